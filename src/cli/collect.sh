#!/bin/sh
# Collects what narrows needs to say what limits the storage paths of this machine, as one text.
#
#   sh collect.sh            writes narrows-capture.txt
#   sh collect.sh FILE       writes FILE, which must not exist; - is standard output
#   sudo sh collect.sh       the same with what only root may read: link registers, slots, tables
#
# Then, on any machine:   narrows check --from narrows-capture.txt
#
# It reads /sys and /proc and runs lspci, lsblk, dmesg, dmidecode and the like where they are installed. It changes
# nothing and sends nothing. Serial numbers are left out where the tools allow it, but names of devices, disks, mounts
# and interfaces are in the text, and so may be what drivers wrote into the kernel log: look through it before you
# share it.

set -u
LC_ALL=C
export LC_ALL
PATH=$PATH:/usr/sbin:/sbin
umask 077

out=${1:-narrows-capture.txt}

# Without what identifies a single device or owner.
scrub() {
    sed -e 's/\(Serial Number\):.*/\1: (left out)/' \
        -e 's/\(Device Serial Number\) .*/\1 (left out)/' \
        -e 's/\(UUID\): .*/\1: (left out)/' \
        -e 's/\(Asset Tag\):.*/\1: (left out)/' \
        -e 's/[0-9A-Fa-f][0-9A-Fa-f]\(:[0-9A-Fa-f][0-9A-Fa-f]\)\{5\}/00:00:00:00:00:00/g'
}

# The output of a command that may be missing or refuse.
run() {
    command -v "$1" >/dev/null 2>&1 || return 0
    printf '\n##### %s\n' "$*"
    "$@" 2>/dev/null </dev/null | scrub
}

# Each line of each file behind the file's path.
show() {
    for file in "$@"; do
        if [ -f "$file" ] && [ -r "$file" ]; then
            sed -e "s|^|$file:|" "$file" 2>/dev/null
        fi
    done
}

# Where links lead.
link() {
    for file in "$@"; do
        if [ -L "$file" ]; then
            printf '%s -> %s\n' "$file" "$(readlink "$file" 2>/dev/null)"
        fi
    done
}

pci() {
    printf '\n##### PCI functions\n'
    for dir in /sys/bus/pci/devices/*; do
        link "$dir" "$dir/driver" "$dir/iommu_group"
        for name in vendor device class numa_node local_cpulist power_state \
            current_link_speed current_link_width max_link_speed max_link_width \
            aer_dev_correctable aer_dev_nonfatal aer_dev_fatal; do
            show "$dir/$name"
        done
    done
    show /sys/bus/pci/slots/*/address
}

block() {
    printf '\n##### Block devices\n'
    for dir in /sys/class/block/*; do
        case $dir in
        */loop[0-9]* | */ram[0-9]*)
            # There may be hundreds that nobody has set up.
            [ "$(cat "$dir/size" 2>/dev/null)" = 0 ] && continue
            ;;
        esac
        link "$dir" "$dir/device" "$dir/device/driver" "$dir/device/subsystem" "$dir"/slaves/* "$dir"/holders/*
        show "$dir/dev" "$dir/size" "$dir/ro" "$dir/removable" "$dir/partition" "$dir/start" \
            "$dir/device/model" "$dir/device/firmware_rev" "$dir/device/rev" "$dir/dm/name" "$dir/loop/dio"
        # Of the identifier only who made the mapping.
        if [ -r "$dir/dm/uuid" ]; then
            sed -n -e "s|^\\(CRYPT-[A-Z0-9]*\\)-.*|$dir/dm/uuid:\\1-x|p" -e t \
                -e "s|^\\([A-Za-z0-9]*\\)-.*|$dir/dm/uuid:\\1-x|p" "$dir/dm/uuid" 2>/dev/null
        fi
        for name in scheduler nr_requests max_sectors_kb logical_block_size physical_block_size \
            read_ahead_kb rotational write_cache; do
            show "$dir/queue/$name"
        done
        for name in level raid_disks chunk_size layout degraded sync_action sync_speed sync_completed \
            group_thread_cnt bitmap/location; do
            show "$dir/md/$name"
        done
        show "$dir"/md/dev-*/state
        show "$dir/bcache/cache_mode" "$dir/bcache/state"
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
        show "$dir/ifindex" "$dir/speed" "$dir/duplex" "$dir/operstate" "$dir/mtu"
    done
}

machine() {
    printf '\n##### Machine\n'
    for name in sys_vendor product_name board_vendor board_name bios_version bios_date; do
        show "/sys/class/dmi/id/$name"
    done
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

if [ "$out" = - ]; then
    collect
    exit 0
fi
if [ -e "$out" ] || [ -L "$out" ]; then
    printf '%s: %s exists already; name another file\n' "$0" "$out" >&2
    exit 1
fi
collect >"$out" || exit 1
printf 'wrote %s; look through it before you share it: it names devices, disks and mounts\n' "$out" >&2
if [ "$(id -u)" != 0 ]; then
    printf 'run as root it would hold more: link registers, slots and device-mapper tables\n' >&2
fi
