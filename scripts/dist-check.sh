#!/usr/bin/env bash
# Tries what `make dist` made: lintian on the .deb; install, run, upgrade and purge of it in new Debians (RELEASES, bookworm and trixie),
# made in chroots; the .rpm in an empty root; the tarball alone. Prints what each step took from install to first answer.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/dist-lib.sh
need mmdebstrap mmdebstrap; need lintian lintian; need rpm rpm
[ "$(id -u)" = 0 ] || { echo "error: a chroot needs root" >&2; echo "hint: run it as root" >&2; exit 2; }
dist=${DIST:-target/packages}
deb=$(ls "$dist"/narrows_*.deb)
rpm=$(ls "$dist"/narrows-*.rpm)
tarball=$(ls "$dist"/narrows-*-linux.tar.xz)
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
timed "rpm: first answer" answers chroot "$place/rpm" /usr/bin/narrows --version
rpm --root "$place/rpm" -V narrows
rpm --root "$place/rpm" -e narrows
[ ! -e "$place/rpm/usr/bin/narrows" ] || { echo "error: rpm -e leaves the binary" >&2; exit 2; }

mkdir -p "$place/tarball"
timed "tar -xf" tar -C "$place/tarball" -xf "$tarball"
timed "tarball: first answer" answers "$place"/tarball/narrows-*/bin/narrows
echo "all passed"
