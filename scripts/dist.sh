#!/usr/bin/env bash
# Builds what is released: a static binary with split debug information, .deb, .rpm and a tarball, with checksums, an SBOM and the
# licences of what is built in. Two builds of one commit are the same to the byte, wherever they are made: `make dist-twice`.
# They go to target/packages: target/dist is cargo's. BINARY=file packs a binary that is there already.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/dist-lib.sh

need dpkg-deb dpkg; need rpmbuild rpm; need jq jq; need objcopy binutils; need ar binutils; need xz xz-utils
cargo=${CARGO:-cargo}
version=$(sed -n '/^version = /{s/^version = "\(.*\)"/\1/p;q}' Cargo.toml)
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || stat -c %Y CHANGELOG.md)}
export SOURCE_DATE_EPOCH LC_ALL=C TZ=UTC
umask 022

machine=$(uname -m)
target=$(static_target "$machine")
out=${DIST:-target/packages}
rm -rf "$out"
mkdir -p "$out"
out=$(cd "$out" && pwd)
work=$out/work
staged=$work/root

if [ -n "${BINARY:-}" ]; then
    cp "$BINARY" "$work.binary"
else
    build "$target"
    cp "${CARGO_TARGET_DIR:-target}/$target/dist/narrows" "$work.binary"
fi
mkdir -p "$work"
mv "$work.binary" "$work/narrows"
split_debug "$work/narrows" "$out/narrows-$version-$machine.debug"
refuse_paths "$work/narrows"
stage "$work/narrows" "$staged" "$version"
tarball "$staged" "$out/narrows-$version-$machine-linux.tar.xz" "narrows-$version"
deb "$staged" "$work/deb" "$out" "$version"
rpm_package "$staged" "$work/rpm" "$out" "$version"
cp "$staged/usr/share/doc/narrows/third-party/sbom.json" "$out/narrows-$version.sbom.json" 2>/dev/null ||
    gzip -dc "$staged/usr/share/doc/narrows/third-party/sbom.json.gz" >"$out/narrows-$version.sbom.json"
cp "$work/narrows" "$out/narrows-$version-$machine"
rm -rf "$work"
(cd "$out" && sha256sum -- * >SHA256SUMS)
echo "target: $target"
ls -l "$out"
within "$out/narrows-$version-$machine" 20000000
within "$out/narrows_${version}-1_$(dpkg --print-architecture).deb" 5500000
