#!/usr/bin/env bash
# Tries what `make dist` made: lintian on the .deb; install, run, upgrade and purge of it in new Debians (RELEASES, bookworm and trixie),
# made in chroots; the .rpm in an empty root; the tarball alone; the wheel by pip and uv; the image by podman where it can run one, and by
# chroot; what is for the other kind of machine under qemu-user. Prints what each step took from install to first answer.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/dist-lib.sh
need mmdebstrap mmdebstrap; need lintian lintian; need rpm rpm; need jq jq
[ "$(id -u)" = 0 ] || { echo "error: a chroot needs root" >&2; echo "hint: run it as root" >&2; exit 2; }
dist=${DIST:-target/packages}
deb=$(ls "$dist"/narrows_*.deb)
rpm=$(ls "$dist"/narrows-*.rpm)
native=$(uname -m)
tarball=$(ls "$dist"/narrows-*-"$native"-linux.tar.xz)
version=${tarball##*/narrows-}
version=${version%-"$native"-linux.tar.xz}
other=$(other_machine)
[ -e "$dist/narrows-$version-$other" ] || other=
place=$(mktemp -d "${TMPDIR:-/tmp}/narrows-dist.XXXXXX")
trap 'umount -q "$place"/*/proc "$place"/*/sys 2>/dev/null || true; rm -rf --one-file-system "$place"' EXIT

# shellcheck disable=SC2016 # apt-get fills in the names
site() { apt-get indextargets --format '$(LABEL) $(SITE)' 'Created-By: Packages' 'Origin: Debian' | sed -n "s/^$1 //p" | head -n 1; }
timed() { # WHAT COMMAND...
    local what=$1 begin
    begin=$(date +%s.%N)
    shift
    "$@" || { echo "error: $what failed" >&2; exit 2; }
    printf '%-44s %6.1f s\n' "$what" "$(echo "$(date +%s.%N) $begin" | awk '{ print $1 - $2 }')"
}
quietly() { "$@" >/dev/null; }
# 1 means "findings", which is an answer.
answers() { "$@" >/dev/null || [ $? -eq 1 ]; }
# The answer of a capture that is known, in an empty environment.
asks() {
    env -i "$@" /dev/nvme2n1 - <tests/machines/s3-x99-before/machine.tree >"$place/answer" || [ $? -eq 1 ] || return
    grep -q 'limited by the PCIe link in slot PCIEX16_2: it runs x1' "$place/answer" || { cat "$place/answer" >&2; return 1; }
}

(cd "$dist" && sha256sum --quiet -c SHA256SUMS)
lintian --fail-on error --suppress-tags bogus-mail-host,no-copyright-file "$deb" >"$place/lintian.log" || { cat "$place/lintian.log"; exit 2; }
sed 's/^/lintian: /' "$place/lintian.log"

# A package of an older version, to be upgraded.
older() {
    mkdir -p "$place/older"
    dpkg-deb -R "$deb" "$place/older/root"
    sed -i 's/^Version: .*/Version: 0.0.1-1/' "$place/older/root/DEBIAN/control"
    dpkg-deb --root-owner-group -Zxz --build "$place/older/root" "$place/older.deb" >/dev/null
}
older
# Runs the image as docs/install.md says. crun refuses two generations of control groups at once: the second is hidden from it.
in_podman() {
    local podman=(/usr/bin/unshare --mount /bin/sh -c '/bin/umount -qR /sys/fs/cgroup/unified; exec "$@"' - /usr/bin/env HOME="$place" PATH="$PATH"
        podman --root "$place/store" --runroot "$place/run" --storage-driver vfs)
    local bounds=(--ulimit nofile=1024:1024 --ulimit nproc=1024:1024)
    if ! command -v podman >/dev/null; then
        echo "skipped: podman is not installed; the image was run by chroot alone"
    elif ! "${podman[@]}" load --quiet --input "$image" >"$place/podman.log" 2>&1 ||
        ! "${podman[@]}" run --rm "${bounds[@]}" --network none "narrows:$version" --version >"$place/podman.log" 2>&1; then
        echo "skipped: podman cannot run containers here; the image was run by chroot alone: $(tail -n 1 "$place/podman.log")"
    else
        timed "image, by podman: first answer" asks "${podman[@]}" run --rm "${bounds[@]}" --network none --interactive "narrows:$version"
        timed "image, by podman: first answer of this machine" answers "${podman[@]}" run --rm "${bounds[@]}" --network none --privileged \
            --volume /sys:/sys:ro "narrows:$version"
    fi
}
for release in ${RELEASES:-bookworm trixie}; do
    root=$place/$release
    timed "$release: made anew" mmdebstrap --quiet --variant=minbase --include=adduser "$release" "$root" "deb $(site Debian) $release main"
    mount -t proc proc "$root/proc"
    mount -t sysfs -o ro sysfs "$root/sys"
    before=$(cd "$root" && find . -xdev -path ./proc -prune -o -path ./sys -prune -o -path ./run -prune -o -path ./var/log -prune -o -path ./var/cache -prune -o -path ./var/lib/dpkg -prune -o -print | sort)
    cp "$place/older.deb" "$deb" "$root/root/"
    timed "$release: dpkg -i (older)" quietly chroot "$root" dpkg -i /root/older.deb
    timed "$release: upgrade" quietly chroot "$root" dpkg -i "/root/$(basename "$deb")"
    timed "$release: first answer" answers chroot "$root" narrows
    chroot "$root" getent passwd narrows >/dev/null || { echo "error: there is no user narrows" >&2; exit 2; }
    mkdir -p "$root/var/lib/narrows-watch"
    chroot "$root" dpkg --verify narrows
    timed "$release: purge" quietly chroot "$root" dpkg --purge narrows
    rm -f "$root"/root/*.deb
    after=$(cd "$root" && find . -xdev -path ./proc -prune -o -path ./sys -prune -o -path ./run -prune -o -path ./var/log -prune -o -path ./var/cache -prune -o -path ./var/lib/dpkg -prune -o -print | sort)
    # The user stays, as Debian's policy wants it, with the backups of the files that name it.
    left=$(diff <(echo "$before") <(echo "$after") | grep '^>' | grep -vE '\./etc/(passwd|group|shadow|gshadow)-$|\./etc/(subuid|subgid)-?$' || true)
    [ -z "$left" ] || { echo "error: purge leaves: $left" >&2; exit 2; }
    umount "$root/proc" "$root/sys"
    echo "$release: clean after purge"
done

mkdir -p "$place/rpm"
timed "rpm --root (empty)" rpm --root "$place/rpm" --nodeps --noscripts -i "$(realpath "$rpm")"
timed "rpm: first answer" asks /usr/sbin/chroot "$place/rpm" /usr/bin/narrows
rpm --root "$place/rpm" -V narrows
rpm --root "$place/rpm" -e narrows
[ ! -e "$place/rpm/usr/bin/narrows" ] || { echo "error: rpm -e leaves the binary" >&2; exit 2; }

# shellcheck disable=SC2086 # there may be no other
for machine in $native $other; do
    # What is before the name of a program of this machine, and before the answer of a program of the other one.
    run=()
    if [ "$machine" != "$native" ]; then
        need "qemu-$machine-static" qemu-user-static
        run=("$(command -v "qemu-$machine-static")")
    fi
    wheel=$(realpath "$dist"/narrows-*"_$machine.whl")
    in=$place/$machine
    mkdir -p "$in/tarball" "$in/image" "$in/root"
    timed "$machine: tar -xf" tar -C "$in/tarball" -xf "$dist/narrows-$version-$machine-linux.tar.xz"
    timed "$machine: tarball: first answer" asks "${run[@]}" "$in/tarball/narrows-$version/bin/narrows"

    if [ "$machine" = "$native" ]; then
        python3 -m venv "$in/venv"
        timed "$machine: pip install" "$in/venv/bin/pip" install --quiet --disable-pip-version-check --no-index "$wheel"
        timed "$machine: wheel: first answer" asks "$in/venv/bin/narrows"
        uv=$(command -v uv || { "$in/venv/bin/pip" install --quiet --disable-pip-version-check uv >&2 && echo "$in/venv/bin/uv"; } || true)
        if [ -n "$uv" ]; then
            timed "$machine: uvx: install and first answer" asks "$uv" tool run --offline --no-config --cache-dir "$in/uv" \
                --python "$in/venv/bin/python3" --from "$wheel" narrows
        else
            echo "skipped: uvx: uv is not installed, and PyPI does not answer"
        fi
        "$in/venv/bin/pip" uninstall --quiet --yes narrows
        [ ! -e "$in/venv/bin/narrows" ] || { echo "error: pip uninstall leaves the binary" >&2; exit 2; }
    else
        timed "$machine: pip install" "$place/$native/venv/bin/pip" install --quiet --disable-pip-version-check --no-index \
            --platform "manylinux2014_$machine" --only-binary=:all: --target "$in/wheel" "$wheel"
        timed "$machine: wheel: first answer" asks "${run[@]}" "$in/wheel/bin/narrows"
    fi

    image=$dist/narrows-$version-$machine.oci.tar
    tar -C "$in/image" -xf "$image"
    blob() { jq -r "$2" "$in/image/$1" | sed 's,^sha256:,blobs/sha256/,'; }
    tar -C "$in/root" -xzf "$in/image/$(blob "$(blob index.json '.manifests[].digest')" '.layers[].digest')"
    [ "$(cd "$in/root" && find . -mindepth 1)" = ./narrows ] || { echo "error: there is more than narrows in $image" >&2; exit 2; }
    if [ "$machine" = "$native" ]; then
        timed "$machine: image, by chroot: first answer" asks /usr/sbin/chroot "$in/root" /narrows
        in_podman
    else
        timed "$machine: image, unpacked: first answer" asks "${run[@]}" "$in/root/narrows"
    fi
done
echo "all passed"
