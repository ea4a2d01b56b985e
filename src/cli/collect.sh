#!/bin/sh
# Collects what narrows needs to say what limits the storage paths of this machine, as one text.
#
#   sh collect.sh - > capture.txt          the text goes to standard output
#   sudo sh collect.sh - > capture.txt     the same with what only root may read: link registers, slots, tables
#   sh collect.sh                          the text goes into a file in a new directory below /tmp, which is named
#
# Then, on any machine:   narrows capture.txt
#
# It reads /sys and /proc and runs lspci, lsblk, dmesg, dmidecode and the like where they are installed. It changes
# nothing and sends nothing. Serial numbers are left out where the tools allow it, but names of devices, disks, mounts
# and interfaces are in the text, and so may be what drivers wrote into the kernel log: look through it before you
# share it.

# Nothing of the caller's environment decides what runs here: no function that bash took from it, not even unset; no variable.
case ${BASH_VERSION-} in
?*)
    POSIXLY_CORRECT=1
    unset -f unset compgen
    unset POSIXLY_CORRECT
    for name in $(compgen -A function); do unset -f "$name"; done
    ;;
esac
unset IFS
PATH=/usr/sbin:/usr/bin:/sbin:/bin:/run/current-system/sw/bin
# Those that a shell keeps to itself cannot be unset.
for name in $(env | sed -n -e '/^PATH=/d' -e '/^[A-Z]*ID=/d' -e '/^[A-Z]*OPTS=/d' \
    -e 's/^\([A-Za-z_][A-Za-z_0-9]*\)=.*/\1/p'); do unset "$name"; done
set -u
LC_ALL=C
export LC_ALL
umask 077
newline='
'

# Without what identifies a single device or owner, and without lines that look like those of a file or a part.
scrub() {
    sed -e 's/\(Serial Number\):.*/\1: (left out)/' \
        -e 's/\(Device Serial Number\) .*/\1 (left out)/' \
        -e 's/\(UUID\): .*/\1: (left out)/' \
        -e 's/\(Asset Tag\):.*/\1: (left out)/' \
        -e 's/[0-9A-Fa-f][0-9A-Fa-f]\(:[0-9A-Fa-f][0-9A-Fa-f]\)\{5\}/00:00:00:00:00:00/g' \
        -e 's|^/sys/|\\&|' -e 's|^/proc/|\\&|' -e 's|^#####|\\&|' -e 's| /sys/| \\/sys/|g'
}

# The output of a command that may be missing or refuse.
run() {
    command -v "$1" >/dev/null 2>&1 || return 0
    printf '\n##### %s\n' "$*"
    "$@" 2>/dev/null </dev/null | scrub
}

# Whether a name stays on its line: one that holds the end of a line could forge that of another file.
fits() {
    case $* in
    *"$newline"*) printf '# left out, as its name holds the end of a line: %s\n' "${1%%"$newline"*}" && return 1 ;;
    esac
}

# Each line of each file behind the file's path. Names are data: they stand in no program of sed or awk.
show() {
    for file in "$@"; do
        shift
        if [ -f "$file" ] && [ -r "$file" ] && fits "$file"; then set -- "$@" "$file"; fi
    done
    [ $# = 0 ] || grep -Hs '' "$@" 2>/dev/null
}

# The files of these names in a directory.
files() {
    place=$1
    shift
    for name in "$@"; do
        shift
        set -- "$@" "$place/$name"
    done
    show "$@"
}

# Where links lead.
link() {
    for file in "$@"; do
        if [ -L "$file" ]; then
            target=$(readlink "$file" 2>/dev/null)
            fits "$file" "$target" && printf '%s -> %s\n' "$file" "$target"
        fi
    done
}

pci() {
    printf '\n##### PCI functions\n'
    for dir in /sys/bus/pci/devices/*; do
        link "$dir" "$dir/driver" "$dir/iommu_group"
        files "$dir" vendor device class numa_node local_cpulist power_state \
            current_link_speed current_link_width max_link_speed max_link_width \
            aer_dev_correctable aer_dev_nonfatal aer_dev_fatal
    done
    show /sys/bus/pci/slots/*/address
}

block() {
    printf '\n##### Block devices\n'
    for dir in /sys/class/block/*; do
        case $dir in
        */loop[0-9]* | */ram[0-9]*)
            # There may be hundreds that nobody has set up.
            read -r size <"$dir/size" && [ "$size" = 0 ] && continue
            ;;
        esac
        link "$dir" "$dir/device" "$dir/device/driver" "$dir/device/subsystem" "$dir"/slaves/* "$dir"/holders/*
        files "$dir" dev size ro removable partition start device/model device/firmware_rev device/rev \
            dm/name loop/dio queue/scheduler queue/nr_requests queue/max_sectors_kb queue/logical_block_size \
            queue/physical_block_size queue/read_ahead_kb queue/rotational queue/write_cache \
            md/level md/raid_disks md/chunk_size md/layout md/degraded md/sync_action md/sync_speed \
            md/sync_completed md/group_thread_cnt md/bitmap/location bcache/cache_mode bcache/state
        show "$dir"/md/dev-*/state
        # Of the identifier only who made the mapping.
        if [ -r "$dir/dm/uuid" ] && fits "$dir" && IFS= read -r uuid <"$dir/dm/uuid"; then
            case $uuid in
            CRYPT-*-*) kind=${uuid#CRYPT-} && kind=CRYPT-${kind%%-*} ;;
            *-*) kind=${uuid%%-*} ;;
            *) kind= ;;
            esac
            case $kind in
            '' | *[!A-Za-z0-9-]*) ;;
            *) printf '%s:%s-x\n' "$dir/dm/uuid" "$kind" ;;
            esac
        fi
    done
    link /sys/class/nvme/* /sys/class/scsi_host/* /sys/class/ata_link/*
    show /sys/class/nvme/*/transport /sys/class/nvme/*/queue_count /sys/class/scsi_host/*/proc_name
    show /sys/class/ata_link/*/sata_spd /sys/class/ata_link/*/hw_sata_spd_limit
    link /sys/class/sas_phy/*
    show /sys/class/sas_phy/*/negotiated_linkrate
}

usb() {
    printf '\n##### USB devices\n'
    link /sys/bus/usb/devices/* /sys/bus/usb/devices/*/driver
    show /sys/bus/usb/devices/*/speed /sys/bus/usb/devices/*/version
}

network() {
    printf '\n##### Network interfaces\n'
    for dir in /sys/class/net/*; do
        link "$dir" "$dir/device" "$dir/device/driver" "$dir"/lower_*
        files "$dir" ifindex speed duplex operstate mtu
    done
}

machine() {
    printf '\n##### Machine\n'
    files /sys/class/dmi/id sys_vendor product_name board_vendor board_name bios_version bios_date
    show /proc/sys/kernel/osrelease /sys/hypervisor/type /proc/spl/kstat/zfs/*/state
    show /sys/devices/system/cpu/online
    show /sys/devices/system/cpu/cpu[0-9]*/topology/core_cpus_list
    show /sys/devices/system/cpu/cpu[0-9]*/topology/physical_package_id
    show /sys/devices/system/node/node*/cpulist /sys/devices/system/node/node*/distance
    sed -n -e '/^$/q' -e 's|^|/proc/cpuinfo:|p' /proc/cpuinfo 2>/dev/null
    sed -n -e 's|^MemTotal|/proc/meminfo:&|p' /proc/meminfo 2>/dev/null
    sed -e 's|^|/proc/self/mountinfo:|' /proc/self/mountinfo 2>/dev/null |
        grep -E ' - (ext[234]|xfs|btrfs|f2fs|zfs|bcachefs|vfat|ntfs3?|nfs4?|cifs|smb3) '
}

collect() {
    printf '# narrows capture 1, as %s\n' "$(id -un 2>/dev/null || printf user)"
    machine
    pci
    block
    usb
    network
    run lspci -nnvvv
    run lspci -tv
    if [ "$(id -u)" = 0 ]; then
        run lspci -xxxx
        run dmidecode -t slot -t baseboard
        for drive in /dev/nvme[0-9] /dev/nvme[0-9][0-9]; do
            if [ -e "$drive" ]; then run nvme smart-log "$drive"; fi
        done
        run dmsetup table
        run lvs --segments -o vg_name,lv_name,segtype,stripes,stripe_size,devices
        run pvs -o pv_name,vg_name,pv_size
    fi
    run lsblk -J -b -o NAME,KNAME,MAJ:MIN,TYPE,SIZE,FSTYPE,MOUNTPOINT,MODEL,ROTA,RO,RM,TRAN,PKNAME,HCTL,SCHED
    run cat /proc/mdstat
    # Kernel names in place of those that hold serial numbers.
    run zpool status -LP
    run zfs list -o name,used,avail,refer,mountpoint
    run ls -l /dev/disk/by-path
    run nvidia-smi topo -m
    run numactl -H
    run lscpu
    run lsusb -t
    if command -v dmesg >/dev/null 2>&1; then
        printf '\n##### dmesg\n'
        dmesg 2>/dev/null |
            grep -E 'pci|PCI|AER|nvme|ata[0-9]|scsi|SCSI|usb|xhci|sd [0-9]|md[0-9:/]|mpt|megaraid|link' | scrub
    fi
}

case ${1-} in
-) ;;
?*)
    printf '%s: it writes to no file that is named: sh %s - > FILE\n' "$0" "$0" >&2
    exit 2
    ;;
*)
    # The directory is new and ours alone, and the file must be, too.
    dir=$(mktemp -d /tmp/narrows.XXXXXX) || exit 1
    set -C
    exec >"$dir/capture.txt"
    ;;
esac
# No character is left that a terminal or a reader of lines would obey.
collect | tr '\001-\010\013-\037\177' '?' || exit 1
[ "${1-}" != - ] || exit 0
printf 'wrote %s; look through it before you share it: it names devices, disks and mounts\n' "$dir/capture.txt" >&2
if [ "$(id -u)" != 0 ]; then
    printf 'run as root it would hold more: link registers, slots and device-mapper tables\n' >&2
fi
