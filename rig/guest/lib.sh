# Functions for the shell snippets of scenarios. Every snippet has sourced this file and the names of the drives.

# name KEY VALUE: makes $KEY known to later snippets and {KEY} to expectations.
name() {
    printf '%s=%s\n' "$1" "$2" >>/result/names
    eval "$1=\$2"
}

# fio_rate TARGET [FIO OPTIONS]: prints the rate of sequential 1 MiB direct reads in bytes per second.
fio_rate() {
    fio_target=$1
    shift
    fio --name=reference --filename="$fio_target" --rw=read --bs=1M --iodepth=8 --ioengine=io_uring --direct=1 \
        --readonly --time_based --ramp_time=1 --runtime=5 --output-format=json "$@" >/result/fio.json
    awk -F '[:,]' '/"bw_bytes"/ { gsub(/ /, "", $2); print $2; exit }' /result/fio.json
}

# read_rate TARGET READERS: prints the rate of reading its first 32 MiB by so many readers at once, in bytes per second.
read_rate() {
    read_each=$((32 / $2))
    read -r read_began read_rest </proc/uptime
    for read_at in $(seq 0 $read_each $((32 - read_each))); do
        dd if="$1" of=/dev/null bs=1M skip="$read_at" count=$read_each iflag=direct 2>/dev/null &
    done
    wait
    read -r read_ended read_rest </proc/uptime
    awk "BEGIN { print 32 * 1024 * 1024 / ($read_ended - $read_began + 0.01) }"
}

# needs BYTES_PER_SECOND TARGET: ends a setup in which no limit is set yet where the guest reads the target more slowly than this:
# nothing would show the limit. The runner calls the scenario inconclusive then.
needs() {
    needs_rate=$(read_rate "$2" 4)
    if ! awk "BEGIN { exit !($needs_rate >= $1) }"; then
        echo "$needs_rate $1 $2" >/result/unable
        exit 1
    fi
}

# memory_drive NAME MIB_PER_SECOND: makes /dev/NAME, a null_blk device of 512 MiB in memory, throttled by its own timer.
memory_drive() {
    memory_null=/sys/kernel/config/nullb/$1
    mkdir "$memory_null"
    echo 512 >"$memory_null/size"
    echo 1 >"$memory_null/memory_backed"
    echo 0 >"$memory_null/completion_nsec"
    echo "$2" >"$memory_null/mbps"
    echo 1 >"$memory_null/power"
    wait_for 5 test -b "/dev/$1"
}

# mapped NAME: makes /dev/mapper/NAME a link, as udev does, and prints the kernel name of the mapping.
mapped() {
    for mapping in /sys/block/dm-*; do
        if [ "$(cat "$mapping/dm/name")" = "$1" ]; then
            ln -sf "../${mapping##*/}" "/dev/mapper/$1"
            echo "${mapping##*/}"
            return 0
        fi
    done
    return 1
}

# wait_for SECONDS COMMAND…: repeats the command until it succeeds.
wait_for() {
    wait_ticks=$(($1 * 10))
    shift
    until "$@" >/dev/null 2>&1; do
        wait_ticks=$((wait_ticks - 1))
        if [ "$wait_ticks" -le 0 ]; then
            echo "rig: gave up waiting for: $*" >&2
            return 1
        fi
        sleep 0.1
    done
}

# iscsi_import KEY DEVICE NAMESPACE ADDRESS: exports the device by iSCSI at this address of a network namespace, logs in to
# it from here, and names the disk that appears.
iscsi_import() {
    iscsi_core=/sys/kernel/config/target/core/iblock_0/$1
    iscsi_group=/sys/kernel/config/target/iscsi/iqn.2003-01.org.example:$1/tpgt_1
    iscsi_us=iqn.2003-01.org.example:initiator
    mkdir -p "$iscsi_core"
    echo "udev_path=$2" >"$iscsi_core/control"
    echo 1 >"$iscsi_core/enable"
    mkdir -p "$iscsi_group"
    mkdir "$iscsi_group/lun/lun_0"
    ln -s "$iscsi_core" "$iscsi_group/lun/lun_0/$1"
    echo 0 >"$iscsi_group/attrib/authentication"
    mkdir "$iscsi_group/acls/$iscsi_us"
    mkdir "$iscsi_group/acls/$iscsi_us/lun_0"
    ln -s "$iscsi_group/lun/lun_0" "$iscsi_group/acls/$iscsi_us/lun_0/$1"
    # The portal listens in the network namespace of whoever makes it. `ip netns exec` would hide configfs.
    busybox nsenter --net="/run/netns/$3" mkdir "$iscsi_group/np/$4:3260"
    echo 1 >"$iscsi_group/enable"
    iscsistart -i "$iscsi_us" -t "iqn.2003-01.org.example:$1" -g 1 -a "$4" -p 3260
    wait_for 10 iscsi_disk
    wait_for 5 test -b "/dev/$(iscsi_disk)"
    name "$1" "$(iscsi_disk)"
}

# iscsi_disk: prints the kernel name of the disk that an iSCSI session has brought.
iscsi_disk() {
    basename "$(ls -d /sys/class/iscsi_session/session*/device/target*/*/block/*)"
}

# bcache_over CACHE BACKING: makes /dev/bcache0 of two drives, and $bcache its directory. Nothing is called congested.
bcache_over() {
    make-bcache --block 4k --bucket 512k -C "/dev/$1" -B "/dev/$2"
    echo "/dev/$1" >/sys/fs/bcache/register
    echo "/dev/$2" >/sys/fs/bcache/register
    wait_for 5 test -b /dev/bcache0
    name bcache /sys/block/bcache0/bcache
    wait_for 5 test -e "$bcache/cache"
    echo 0 >"$bcache/cache/congested_read_threshold_us"
    echo 0 >"$bcache/cache/congested_write_threshold_us"
}

# pretend FILE TEXT: binds a file with this text over a kernel attribute, so that it reads as TEXT.
pretend() {
    pretend_file=$(mktemp /tmp/pretend.XXXXXX)
    printf '%s\n' "$2" >"$pretend_file"
    mount --bind "$pretend_file" "$1"
}

# board_slot DRIVE_PCI SPEED WIDTH PORT_WIDTH: makes the drive one of x4 at 8 GT/s that runs at this speed and width, in a
# port that can do no more than this speed and width, and the bridge of the machine's chipset that of Intel's X99.
board_slot() {
    board_device=/sys/bus/pci/devices/$1
    board_port=$(dirname "$(readlink -f "$board_device")")
    for board_end in "$board_device" "$board_port"; do
        pretend "$board_end/current_link_speed" "$2"
        pretend "$board_end/current_link_width" "$3"
    done
    pretend "$board_device/max_link_speed" '8.0 GT/s PCIe'
    pretend "$board_device/max_link_width" 4
    pretend "$board_port/max_link_speed" "$2"
    pretend "$board_port/max_link_width" "$4"
    pretend /sys/bus/pci/devices/0000:00:1f.0/device 0x8d44
}

# fingerprint FILE: prints a digest of a file or device and of its length. Of what is zero only the place counts, which is quick.
fingerprint() {
    perl -e 'open(F, "<:raw", shift) or die "$!\n"; $zero = "\0" x 65536;
        while ($n = sysread(F, $data, 65536)) { print pack("Q", $at), $data if $data ne substr($zero, 0, $n); $at += $n }
        print "$at bytes\n"' "$1" | sha256sum
}

# listing DIRECTORY: prints names, sizes and times of everything below it.
listing() {
    find "$1" -xdev -exec stat -c '%n %s %Y' {} + 2>/dev/null | sort
}

# findings_of COMMAND…: prints the exit status of a command, and which findings its report has, and about what. Rates and
# counters move, these do not.
findings_of() {
    findings_status=0
    "$@" --json >/tmp/findings.json 2>/dev/null || findings_status=$?
    echo "exit status $findings_status"
    sed -n '/^  "findings": \[/,/^  \]/p' /tmp/findings.json | grep -E '^      "(code|severity|hop|subject|confidence)":' || true
}

# record_agrees: fails unless a record of this machine gives the same answer as the machine.
record_agrees() {
    findings_of narrows >/tmp/findings.live
    narrows snapshot --no-redact -o /tmp/round-trip.tar.zst >/dev/null 2>/tmp/round-trip.stderr || cat /tmp/round-trip.stderr
    findings_of narrows /tmp/round-trip.tar.zst >/tmp/findings.record
    diff /tmp/findings.live /tmp/findings.record
    rm -f /tmp/round-trip.tar.zst
}

# ssh_server: starts OpenSSH's server and makes its client known to those of the scenario's other machines.
ssh_server() {
    mkdir -p /run/sshd /run/ssh /root/.ssh
    chmod 700 /root /root/.ssh
    # Files of the first file system may be read by all, which no ssh takes for a key.
    cp /rig/ssh/key /rig/ssh/key.pub /run/ssh
    chmod 600 /run/ssh/key
    printf '%s\n' root:x:0:0:root:/root:/bin/sh sshd:x:100:100::/run/sshd:/bin/false >/etc/passwd
    printf '%s\n' 'Host *' 'User root' 'IdentityFile /run/ssh/key' 'StrictHostKeyChecking no' 'UserKnownHostsFile /dev/null' \
        'LogLevel ERROR' >/root/.ssh/config
    printf '%s\n' 'HostKey /run/ssh/key' 'AuthorizedKeysFile /run/ssh/key.pub' 'UsePAM no' 'PidFile none' 'StrictModes no' \
        'PermitRootLogin yes' 'PasswordAuthentication no' 'MaxSessions 30' 'UseDNS no' "SetEnv PATH=$PATH" >/run/ssh/config
    /bin/sshd -f /run/ssh/config
}

# nvme_export NAME DEVICE ADDRESS…: exports a device by the kernel's NVMe/TCP target, as the subsystem NAME.
nvme_export() {
    nvme_target=/sys/kernel/config/nvmet
    nvme_subsystem=$nvme_target/subsystems/$1
    mkdir "$nvme_subsystem"
    echo 1 >"$nvme_subsystem/attr_allow_any_host"
    mkdir "$nvme_subsystem/namespaces/1"
    echo "$2" >"$nvme_subsystem/namespaces/1/device_path"
    echo 1 >"$nvme_subsystem/namespaces/1/enable"
    shift 2
    for nvme_address in "$@"; do
        # A port's name is a number.
        nvme_port=$nvme_target/ports/$(echo "$nvme_address" | awk -F . '{ print $3 * 256 + $4 }')
        if [ ! -d "$nvme_port" ]; then
            mkdir "$nvme_port"
            echo ipv4 >"$nvme_port/addr_adrfam"
            echo tcp >"$nvme_port/addr_trtype"
            echo "$nvme_address" >"$nvme_port/addr_traddr"
            echo 4420 >"$nvme_port/addr_trsvcid"
        fi
        ln -s "$nvme_subsystem" "$nvme_port/subsystems/${nvme_subsystem##*/}"
    done
}

# nvme_import NAME ADDRESS: connects to a subsystem, and names the device that appears by NAME.
nvme_import() {
    nvme_us=00000000-0000-0000-0000-$(sha256sum /proc/sys/kernel/hostname | head -c 12)
    nvme connect -t tcp -a "$2" -s 4420 -n "$1" --nr-io-queues=1 --hostnqn="nqn.2014-08.org.nvmexpress:uuid:$nvme_us" --hostid="$nvme_us"
    wait_for 30 nvme_namespace "$1"
    wait_for 30 test -b "/dev/$(nvme_namespace "$1")"
    name "$1" "$(nvme_namespace "$1")"
}

# nfs_export DIRECTORY CLIENT…: serves a directory over NFS 4 to these addresses, as its root. The server is the kernel's, and its export
# tables are filled by hand (kernel Documentation/filesystems/nfs/rpc-cache.rst), so that no daemon is needed. It belongs to the network
# namespace of whoever calls this.
nfs_export() {
    nfs_directory=$1
    shift
    mount -t nfsd nfsd /proc/fs/nfsd
    for nfs_client in "$@"; do
        echo "nfsd $nfs_client 2000000000 *" >/proc/net/rpc/auth.unix.ip/channel
    done
    echo "* $nfs_directory 2000000000 9218 65534 65534 0" >/proc/net/rpc/nfsd.export/channel
    printf '* 1 \\x00000000 2000000000 %s\n' "$nfs_directory" >/proc/net/rpc/nfsd.fh/channel
    echo "-3 +4 +4.1 +4.2" >/proc/fs/nfsd/versions
    echo 10 >/proc/fs/nfsd/nfsv4leasetime
    echo 10 >/proc/fs/nfsd/nfsv4gracetime
    echo "tcp 2049" >/proc/fs/nfsd/portlist
    echo 4 >/proc/fs/nfsd/threads
}

# nfs_import SERVER CLIENT DIRECTORY: mounts what a server exports. mount(2): mount.nfs would only look names and ports up.
nfs_import() {
    mkdir -p "$3"
    perl -e 'my ($server, $client, $on) = @ARGV;
        my @mount = ("$server:/", $on, "nfs4", "vers=4.2,addr=$server,clientaddr=$client,sec=sys");
        syscall(165, $mount[0], $mount[1], $mount[2], 0, $mount[3]) == 0 or die "mount: $!\n"' "$1" "$2" "$3"
}

# nvme_namespace NAME: prints the kernel name of the namespace of a subsystem.
nvme_namespace() {
    for nvme_found in /sys/class/nvme-subsystem/*; do
        [ "$(cat "$nvme_found/subsysnqn")" = "$1" ] || continue
        for nvme_device in "$nvme_found"/nvme*n*; do
            nvme_device=${nvme_device##*/}
            case $nvme_device in
            # What is not there yet, and the single paths to a namespace that may have several.
            *\** | *c*n*) ;;
            *)
                echo "$nvme_device"
                return 0
                ;;
            esac
        done
    done
    return 1
}

if [ -e /result/names ]; then . /result/names; fi
