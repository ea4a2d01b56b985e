#!/usr/bin/env bash
# Proves that the README's two commands do all the set-up on a fresh machine: makes a Debian of RELEASE in a chroot, from
# the package sources that this machine has, clones this checkout into it, types `make run` and `make test` there, and
# prints what each step took. Nothing stays behind.
#   scripts/fresh.sh [RELEASE [TOOLCHAIN]]    (trixie; TOOLCHAIN is a directory with bin/cargo that is used as it is)
# FRESH_COMMANDS="run" runs only a part; FRESH_KEEP=1 keeps the chroot; FRESH_DIR is where it is made (target/fresh).
set -euo pipefail
cd "$(dirname "$0")/.."
release=${1:-trixie}
toolchain=${2:-}
commands=${FRESH_COMMANDS:-run test}
place=${FRESH_DIR:-${CARGO_TARGET_DIR:-target}/fresh}/$release

fail() {
    echo "error: $1" >&2
    echo "hint: $2" >&2
    exit 2
}
case $release in
'' | *[!a-z]*) fail "\`$release\` is not the name of a Debian release" "make fresh RELEASE=bookworm" ;;
esac
[ "$(id -u)" = 0 ] || fail "a chroot needs root" "run it as root"
command -v mmdebstrap >/dev/null || fail "mmdebstrap is not installed" "apt-get install --no-install-recommends mmdebstrap"
[ -z "$toolchain" ] || [ -x "$toolchain/bin/cargo" ] || fail "there is no \`$toolchain/bin/cargo\`" "name the directory of a toolchain"

# The address of Debian's own packages, and that of its security updates, as this machine has them.
# shellcheck disable=SC2016 # apt-get fills in the names
site() { apt-get indextargets --format '$(LABEL) $(SITE)' 'Created-By: Packages' 'Origin: Debian' | sed -n "s/^$1 //p" | head -n 1; }
main=$(site Debian)
security=$(site Debian-Security)
[ -n "$main" ] || fail "this machine has no package source of Debian" "run apt-get update; only Debian's packages are known here"
sources=("deb $main $release main" "deb $main $release-updates main")
[ -z "$security" ] || sources+=("deb $security $release-security main")

rows=()
failed=0
step() { # WHAT COMMAND...: runs it and remembers how long it took
    local what=$1 begin=$SECONDS status=0
    shift
    printf '\n==> %s: %s\n' "$release" "$what"
    "$@" || status=$?
    rows+=("$(printf '%-28s %6d s   %s' "$what" $((SECONDS - begin)) "$([ $status = 0 ] && echo passed || echo "failed ($status)")")")
    [ $status = 0 ] || failed=1
    return $status
}

# In a mount namespace of its own nothing that is mounted here is seen by others, or outlives this script.
if [ -z "${FRESH_NAMESPACE:-}" ]; then
    FRESH_NAMESPACE=1 exec unshare --mount --propagation private "$0" "$@"
fi
# shellcheck disable=SC2317 # called by the trap
tidy() {
    umount --recursive --lazy "$place" 2>/dev/null || true
    umount --recursive --lazy "$place/sys" "$place/dev" "$place/proc" 2>/dev/null || true
    [ -n "${FRESH_KEEP:-}" ] || rm -rf --one-file-system "$place"
}
trap tidy EXIT
trap 'exit 130' INT TERM

# shellcheck disable=SC2317 # called by step
install_debian() {
    # ca-certificates, git and make are what a person has who cloned the repository and types make.
    mmdebstrap --quiet --variant=minbase --include=ca-certificates,git,make "$release" "$place" "${sources[@]}"
}
rm -rf --one-file-system "$place"
mkdir -p "$(dirname "$place")"
step "Debian $release" install_debian || exit 1
mount -t proc proc "$place/proc"
mount --rbind /sys "$place/sys"
mount --rbind /dev "$place/dev"
cp /etc/resolv.conf "$place/etc/resolv.conf" 2>/dev/null || true
# A network that has certificates of its own has them for the fresh machine, too.
cp -L /etc/ssl/certs/ca-certificates.crt "$place/root/ca.crt" 2>/dev/null || true
git clone --quiet --no-hardlinks . "$place/root/narrows"
path=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
if [ -n "$toolchain" ]; then
    cp -a "$toolchain/." "$place/opt/toolchain"
    path=/opt/toolchain/bin:$path
fi
inside() {
    local certificates=()
    [ ! -e "$place/root/ca.crt" ] || certificates=(CARGO_HTTP_CAINFO=/root/ca.crt SSL_CERT_FILE=/root/ca.crt)
    env -i HOME=/root USER=root PATH="$path" TERM=dumb LANG=C.UTF-8 ${certificates[@]+"${certificates[@]}"} \
        chroot "$place" sh -c "cd /root/narrows && $1" </dev/null
}
for command in $commands; do
    # `run` is shown to work where the root is no mount point. The tests make mount namespaces, as they can on any machine whose
    # root is one.
    [ "$command" != test ] || mount --rbind "$place" "$place"
    step "make $command" inside "make --no-print-directory $command" || break
done
inside 'cargo --version' || true

printf '\n'
printf '%s\n' "${rows[@]}"
exit $failed
