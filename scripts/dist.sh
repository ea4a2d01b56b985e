#!/usr/bin/env bash
# Builds what is released: for x86_64 and AArch64 a static binary with split debug information, a tarball, a Python wheel and a container
# image; for this machine .deb and .rpm; with checksums, an SBOM and the licences of what is built in. Two builds of one commit are the
# same to the byte, wherever they are made: `make dist-twice`. They go to target/packages: target/dist is cargo's. BINARY=file packs a
# binary for this machine that is there already; OTHER= leaves the other kind of machine out.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/dist-lib.sh

need dpkg-deb dpkg; need rpmbuild rpm; need jq jq; need objcopy binutils; need ar binutils; need xz xz-utils
need python3 python3; need buildah buildah
cargo=${CARGO:-cargo}
version=$(sed -n '/^version = /{s/^version = "\(.*\)"/\1/p;q}' Cargo.toml)
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || stat -c %Y CHANGELOG.md)}
export SOURCE_DATE_EPOCH LC_ALL=C TZ=UTC
umask 022

native=$(uname -m)
other=${OTHER-$(other_machine)}
[ -z "${BINARY:-}" ] || other=
[ -z "$other" ] || need "$(tools "$other")gcc" "gcc-${other//_/-}-linux-gnu"
declare -A target
# shellcheck disable=SC2086 # there may be no other
for machine in $native $other; do target[$machine]=$(static_target "$machine"); done
out=${DIST:-target/packages}
rm -rf "$out"
mkdir -p "$out"
out=$(cd "$out" && pwd)

[ -n "${BINARY:-}" ] || build "${target[@]}"
# shellcheck disable=SC2086
for machine in $native $other; do
    work=$out/work
    staged=$work/root
    third_party=$staged/usr/share/doc/narrows/third-party
    name=narrows-$version-$machine
    mkdir -p "$work"
    cp "${BINARY:-${CARGO_TARGET_DIR:-target}/${target[$machine]}/dist/narrows}" "$work/narrows"
    split_debug "$work/narrows" "$out/$name.debug" "$(tools "$machine")"
    refuse_paths "$work/narrows"
    cp "$work/narrows" "$out/$name"
    stage "$work/narrows" "$staged" "$version" "$out/narrows-$version-$native"
    tarball "$staged" "$out/$name-linux.tar.xz" "narrows-$version"
    scripts/wheel.py "$work/narrows" "$machine" "$version" "$third_party" "$out"
    image "$work/narrows" "$machine" "$work/image" "$out/$name.oci.tar" "$version"
    if [ "$machine" = "$native" ]; then
        deb "$staged" "$work/deb" "$out" "$version"
        rpm_package "$staged" "$work/rpm" "$out" "$version"
        gzip -dc "$third_party/sbom.json.gz" >"$out/narrows-$version.sbom.json"
    fi
    rm -rf "$work"
done
(cd "$out" && sha256sum -- * >SHA256SUMS)
echo "targets: ${target[*]}"
ls -l "$out"
for machine in $native $other; do
    within "$out/narrows-$version-$machine" 20000000
    within "$out"/narrows-*"_$machine.whl" 8000000
    within "$out/narrows-$version-$machine.oci.tar" 9000000
done
within "$out/narrows_${version}-1_$(dpkg --print-architecture).deb" 5500000
