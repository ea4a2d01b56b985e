#!/bin/sh
# Installs what the rig needs and unpacks a Debian kernel into target/rig/kernel (which is not installed). With the name
# of a kernel's package, such as linux-image-6.12.9+deb12-amd64, unpacks that one into target/rig/NAME, for --kernel NAME.
# Idempotent: does nothing, and needs no network, when all is there.
set -eu

image=${1:-}
case $image in
'' | linux-image-[!/]*) ;;
*)
    echo "usage: rig/setup.sh [linux-image-…]" >&2
    exit 2
    ;;
esac

here=$(cd "$(dirname "$0")" && pwd)
target=${CARGO_TARGET_DIR:-$here/../target}/rig
place=$target/${image:-kernel}

if [ "$(uname -m)" != x86_64 ]; then
    echo "rig/setup.sh: the rig boots an x86-64 kernel and takes its tools from this machine, which is $(uname -m)" >&2
    exit 2
fi
if ! command -v apt-get >/dev/null; then
    echo "rig/setup.sh: needs apt-get (Debian or Ubuntu) to fetch QEMU, the tools and a kernel" >&2
    exit 2
fi

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        echo "rig/setup.sh: needs root or sudo for: $*" >&2
        exit 2
    fi
}

# tests/fleet starts OpenSSH servers in network namespaces of its own, and an attack an NBD server. The packages start one for the whole
# machine where systemd runs, which nobody asked for: there these tests are skipped unless they are installed already.
servers="nbdkit openssh-client"
[ -d /run/systemd/system ] || servers="$servers nbd-server openssh-server"

missing=
# shellcheck disable=SC2086 # a list of names
for package in $servers bcache-tools btrfs-progs busybox-static cryptsetup-bin dmsetup dosfstools e2fsprogs erofs-utils exfatprogs \
    f2fs-tools fdisk fio gdisk iperf3 iproute2 kmod lvm2 mdadm nilfs-tools ntfs-3g nvme-cli open-iscsi perl-base \
    qemu-system-x86 squashfs-tools tcplay tmux udftools xfsprogs xz-utils zstd; do
    state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$state" = installed ] || missing="$missing $package"
done
if [ -n "$missing" ]; then
    as_root apt-get update -q
    # shellcheck disable=SC2086 # a list of names
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $missing
fi

# What QEMU can boot without unpacking it first, which takes an emulated processor seconds (as Linux' own
# scripts/extract-vmlinux does it). Needs a kernel with the entry that Xen's PVH guests have; without it vmlinuz is booted.
unpack_image() {
    if [ -e "$1/vmlinux" ] || ! grep -qx CONFIG_PVH=y "$1"/root/boot/config-*; then return 0; fi
    for format in '\xfd7zXZ\x00:xz -dc' '\x28\xb5\x2f\xfd:zstd -dcq' '\x1f\x8b\x08:gzip -dc'; do
        for offset in $(LC_ALL=C grep -abobP "${format%%:*}" "$1/vmlinuz" | cut -d : -f 1); do
            # What follows the image is an error to the unpackers, after which they do not finish a sparse file: hence `cat`.
            tail -c "+$((offset + 1))" "$1/vmlinuz" | ${format#*:} 2>/dev/null | cat >"$1/vmlinux.part"
            if [ "$(head -c 4 "$1/vmlinux.part" | tail -c 3)" = ELF ]; then
                mv "$1/vmlinux.part" "$1/vmlinux"
                return 0
            fi
        done
    done
    rm -f "$1/vmlinux.part"
}

if [ -e "$place/vmlinuz" ]; then
    unpack_image "$place"
    exit 0
fi
if [ -n "$image" ] && ! apt-cache show "$image" >/dev/null 2>&1; then
    as_root apt-get update -q
fi
# Debian names the current kernel by a meta package; Ubuntu has its own, in two packages.
for meta in linux-image-amd64 linux-image-generic; do
    [ -z "$image" ] || break
    image=$(apt-cache depends "$meta" 2>/dev/null | sed -n 's/^ *Depends: \(linux-image-[^ ]*\)$/\1/p' | head -n 1)
done
if [ -z "$image" ]; then
    as_root apt-get update -q
    image=$(apt-cache depends linux-image-amd64 | sed -n 's/^ *Depends: \(linux-image-[^ ]*\)$/\1/p' | head -n 1)
fi
if [ -z "$image" ]; then
    echo "rig/setup.sh: no package linux-image-amd64 or linux-image-generic is known to apt" >&2
    exit 2
fi
packages=$image
modules=linux-modules-${image#linux-image-}
extra=linux-modules-extra-${image#linux-image-}
for name in "$modules" "$extra"; do
    if apt-cache show "$name" >/dev/null 2>&1; then packages="$packages $name"; fi
done

work=$place.new
rm -rf "$work"
mkdir -p "$work/packages" "$work/root"
(
    cd "$work/packages"
    # shellcheck disable=SC2086 # a list of names
    apt-get download -q $packages
)
for package in "$work"/packages/*.deb; do
    dpkg -x "$package" "$work/root"
done
release=${image#linux-image-}
mv "$work/root/boot/vmlinuz-$release" "$work/vmlinuz"
# Kernels of Debian 13 have their modules in usr/lib; each modprobe and depmod looks in its own place.
if [ ! -e "$work/root/lib" ]; then ln -s usr/lib "$work/root/lib"; fi
if [ ! -e "$work/root/usr/lib" ]; then
    mkdir -p "$work/root/usr"
    ln -s ../lib "$work/root/usr/lib"
fi
unpack_image "$work"
depmod -b "$work/root" "$release"
printf '%s\n' "$release" >"$work/release"
rm -rf "$work/packages" "$place"
mv "$work" "$place"
echo "rig/setup.sh: kernel $release is in $place"
