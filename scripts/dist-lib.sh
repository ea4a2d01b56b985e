#!/usr/bin/env bash
# The parts of scripts/dist.sh.
# shellcheck disable=SC2154 # `cargo`, `version` and `SOURCE_DATE_EPOCH` are set by who reads this

# need PROGRAM PACKAGE: refuses where a program is missing.
need() {
    command -v "$1" >/dev/null && return
    echo "error: \`$1\` is missing" >&2
    echo "hint: apt-get install $2" >&2
    exit 2
}

# What Debian and containers call a machine; the kind of machine that is released, too; what programs for a machine's binaries begin with.
debian_name() { case $1 in x86_64) echo amd64 ;; aarch64) echo arm64 ;; *) echo "$1" ;; esac }
other_machine() { case $(uname -m) in aarch64) echo x86_64 ;; *) echo aarch64 ;; esac }
tools() { [ "$1" = "$(uname -m)" ] || echo "$1-linux-gnu-"; }

# The target whose binaries are static: musl where its standard library is installed, else the GNU C library linked statically,
# which takes that of this machine.
static_target() {
    local musl=$1-unknown-linux-musl installed
    installed=$(rustc --print sysroot)/lib/rustlib/$musl/lib
    [ -d "$installed" ] || [ -z "$(tools "$1")" ] || rustup --quiet target add "$musl" >&2 || true
    if [ -d "$installed" ]; then
        echo "$musl"
    elif [ -n "$(tools "$1")" ]; then
        echo "error: the standard library for $musl is not installed" >&2
        echo "hint: rustup target add $musl, or build for this machine alone: OTHER= make dist" >&2
        exit 2
    else
        echo "note: the standard library for $musl is not installed (rustup target add $musl); the GNU C library is linked in" >&2
        echo "$1-unknown-linux-gnu"
    fi
}

# build TARGET...: together, since each is linked by one core. No path of this machine gets into the binaries.
build() {
    local flags home target linker
    home=${CARGO_HOME:-$HOME/.cargo}
    flags="--remap-path-prefix=$home/registry/src=/cargo --remap-path-prefix=$(rustc --print sysroot)=/rust"
    flags="$flags --remap-path-prefix=$PWD=/narrows -C target-feature=+crt-static -C link-arg=-Wl,--build-id=sha1"
    if [ -n "${CARGO_TARGET_DIR:-}" ]; then flags="$flags --remap-path-prefix=$(realpath "$CARGO_TARGET_DIR")=/narrows/target"; fi
    for target in "$@"; do
        linker=$(tools "${target%%-*}")gcc
        [ "$linker" = gcc ] || export "CARGO_TARGET_$(tr a-z- A-Z_ <<<"$target")_LINKER=$linker"
    done
    # shellcheck disable=SC2086 # triples have no spaces
    CARGO_INCREMENTAL=0 RUSTFLAGS=$flags "$cargo" build --locked --profile dist --bin narrows "${@/#/--target=}"
}

# split_debug BINARY DEBUG TOOLS: what a debugger needs goes to a file of its own.
split_debug() {
    "$3objcopy" --only-keep-debug --compress-debug-sections "$1" "$2"
    largest "$1" "$3" >"$2.crates.txt"
    "$3strip" --strip-all "$1"
    (cd "$(dirname "$2")" && "$3objcopy" --add-gnu-debuglink="$(basename "$2")" "$1")
}

# largest BINARY TOOLS: the ten crates with the most code, by the names of symbols.
largest() {
    "$2nm" --size-sort --print-size --radix=d --demangle "$1" 2>/dev/null |
        awk '$3 ~ /^[tT]$/ { name = $0; sub(/^[^ ]+ [^ ]+ [^ ]+ /, "", name); gsub(/^[<&*(\\[]+(mut |dyn |const )?/, "", name)
                split(name, part, "::"); sum[part[1]] += $2 }
            END { for (name in sum) print sum[name], name }' | sort -rn | sed -n '1,10p'
}

# refuse_paths BINARY: fails when a path of this machine is in it.
refuse_paths() {
    local found
    # A home of root's is a path that narrows knows, too; sources in it are not.
    found=$(strings -a "$1" | grep -E -e "$PWD" -e "${CARGO_HOME:-$HOME/.cargo}" -e "$HOME/[^: ]*\.(rs|c|h)\b" | head -n 3 || true)
    [ -z "$found" ] && return
    echo "error: the binary holds paths of this machine:" >&2
    echo "$found" >&2
    exit 2
}

# Crates that are built in, one a line: name|version|licence.
crates() {
    "$cargo" tree --locked --edges normal --prefix none --format '{p}|{l}' --package narrows |
        sed -E 's/ \(\*\)$//; s/ \(\/[^)]*\)//; s/ \(proc-macro\)//; s/^([^ ]+) v([^|]+)\|/\1|\2|/' | sort -u
}

# A list of them as CycloneDX 1.5.
sbom() {
    crates | jq -R -s --arg version "$1" --arg at "$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)" '
        {bomFormat: "CycloneDX", specVersion: "1.5", version: 1,
         metadata: {timestamp: $at, component: {type: "application", name: "narrows", version: $version, "bom-ref": "narrows"}},
         components: [split("\n")[] | select(. != "") | split("|") |
            {type: "library", name: .[0], version: .[1], "bom-ref": "\(.[0])@\(.[1])", purl: "pkg:cargo/\(.[0])@\(.[1])"} +
            (if .[2] == "" then {} else {licenses: [{expression: (.[2] | gsub("/"; " OR "))}]} end)]}'
}

# The texts of their licences.
licences() {
    local name version licence manifest directory
    cat LICENSE-MIT LICENSE-APACHE
    "$cargo" metadata --locked --format-version 1 | jq -r '.packages[] | "\(.name)|\(.version)|\(.manifest_path)"' >"$1"
    crates | while IFS='|' read -r name version licence; do
        manifest=$(awk -F '|' -v name="$name" -v version="$version" '$1 == name && $2 == version { print $3 }' "$1")
        case $name in narrows*) continue ;; esac
        printf '\n==== %s %s (%s)\n' "$name" "$version" "$licence"
        directory=$(dirname "$manifest")
        find "$directory" -maxdepth 1 -type f \( -iname 'licen[sc]e*' -o -iname 'copying*' -o -iname 'notice*' -o -iname 'unlicense*' \) |
            sort | while read -r file; do printf -- '-- %s\n' "$(basename "$file")"; cat "$file"; done
    done
    rm -f "$1"
}

# stage BINARY ROOT VERSION WRITER: everything where it is installed, without what is different for each kind of package. WRITER is a
# narrows that runs here.
stage() {
    local root=$2 doc=$2/usr/share/doc/narrows
    mkdir -p "$root/usr/bin" "$root/usr/share/man/man1" "$root/usr/share/bash-completion/completions" \
        "$root/usr/share/fish/vendor_completions.d" "$root/usr/share/zsh/vendor-completions" "$root/usr/lib/systemd/system" \
        "$root/usr/lib/sysusers.d" "$doc/third-party" "$doc/contrib"
    install -m 755 "$1" "$root/usr/bin/narrows"
    "$4" man "$root/usr/share/man/man1"
    gzip -9n "$root"/usr/share/man/man1/*.1
    "$4" completions bash >"$root/usr/share/bash-completion/completions/narrows"
    "$4" completions zsh >"$root/usr/share/zsh/vendor-completions/_narrows"
    "$4" completions fish >"$root/usr/share/fish/vendor_completions.d/narrows.fish"
    install -m 644 contrib/systemd/*.service contrib/systemd/*.timer "$root/usr/lib/systemd/system/"
    install -m 644 contrib/systemd/narrows.sysusers "$root/usr/lib/sysusers.d/narrows.conf"
    install -m 644 README.md "$doc/README.md"
    gzip -9nc CHANGELOG.md >"$doc/changelog.gz"
    cp -r contrib/prometheus contrib/grafana "$doc/contrib/"
    sbom "$3" | gzip -9n >"$doc/third-party/sbom.json.gz"
    licences "$root.metadata" | gzip -9n >"$doc/third-party/LICENSES.txt.gz"
    find "$root" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
}

# tarball ROOT FILE NAME
tarball() {
    tar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --transform "s,^\./usr,$3," \
        --transform "s,^\.,$3," -C "$1" -cf - . | xz -T1 -9 >"$2"
}

# deb ROOT WORK OUT VERSION
deb() {
    local root=$2 architecture
    architecture=$(dpkg --print-architecture)
    cp -a "$1" "$root"
    mkdir -p "$root/DEBIAN" "$root/usr/share/lintian/overrides"
    install -m 644 contrib/packages/lintian-overrides "$root/usr/share/lintian/overrides/narrows"
    install -m 644 contrib/packages/copyright "$root/usr/share/doc/narrows/copyright"
    printf 'narrows (%s-1) unstable; urgency=medium\n\n  * See changelog.gz.\n\n -- The narrows developers <narrows@example.org>  %s\n' \
        "$4" "$(date -R -u -d "@$SOURCE_DATE_EPOCH")" | gzip -9n >"$root/usr/share/doc/narrows/changelog.Debian.gz"
    cat >"$root/DEBIAN/control" <<EOF
Package: narrows
Version: $4-1
Architecture: $architecture
Maintainer: The narrows developers <narrows@example.org>
Depends: adduser
Section: utils
Priority: optional
Installed-Size: $(du -sk --apparent-size "$1" | cut -f 1)
Description: finds the narrowest point of a storage path
 narrows reads every hop between an application and the medium that stores
 its bytes, puts a ceiling on each, measures, and says which hop is the
 bottleneck, how it knows, and what would widen it. Its flight recorder tells
 when a PCIe link narrowed.
EOF
    for script in postinst prerm postrm; do install -m 755 "contrib/packages/$script" "$root/DEBIAN/$script"; done
    (cd "$root" && find . -type f ! -path './DEBIAN/*' -printf '%P\0' | sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"
    find "$root" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
    local package=$3/narrows_$4-1_$architecture.deb
    dpkg-deb --root-owner-group -Znone --build "$root" "$package" >/dev/null
    squeeze "$package" "$2.members" "$architecture"
}

# squeeze DEB WORK ARCHITECTURE: compresses its data as dpkg-deb cannot, with xz's filter for machine code: 7 % smaller. liblzma,
# with which dpkg and apt unpack, knows the filter since its first release.
squeeze() {
    local filter=()
    [ "$3" != amd64 ] || filter=(--x86)
    mkdir -p "$2"
    (cd "$2" && ar x "$1" && xz -T1 -9 control.tar && xz -T1 "${filter[@]}" --lzma2=preset=9e data.tar)
    rm "$1"
    (cd "$2" && ar rcDS "$1" debian-binary control.tar.xz data.tar.xz)
    rm -r "$2"
}

# rpm_package ROOT WORK OUT VERSION
rpm_package() {
    local root=$2/root
    mkdir -p "$2"
    cp -a "$1" "$root"
    mkdir -p "$root/usr/share/zsh/site-functions"
    mv "$root/usr/share/zsh/vendor-completions/_narrows" "$root/usr/share/zsh/site-functions/_narrows"
    rmdir "$root/usr/share/zsh/vendor-completions"
    find "$root" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
    rpmbuild --quiet -bb --define "_topdir $2/top" --define "_rpmdir $3" --define "_rpmfilename narrows-$4-1.$(uname -m).rpm" \
        --define "narrows_version $4" --define "staged $root" --define "_buildhost reproducible" \
        --define "use_source_date_epoch_as_buildtime 1" --define "clamp_mtime_to_source_date_epoch 1" \
        --define "_build_id_links none" --define "__os_install_post %{nil}" --define "debug_package %{nil}" \
        --define "_binary_payload w9.xzdio" --define "_docdir /usr/share/doc" contrib/packages/narrows.spec
}

# image BINARY MACHINE WORK FILE VERSION: a container image as an OCI archive, with nothing but the binary.
image() {
    local buildah=(buildah --root "$3/store" --runroot "$3/run" --storage-driver vfs)
    mkdir -p "$3/context"
    cp "$1" "$3/context/narrows"
    "${buildah[@]}" build --quiet --timestamp "$SOURCE_DATE_EPOCH" --identity-label=false --os linux --arch "$(debian_name "$2")" \
        --tag "narrows:$5" --file contrib/Containerfile "$3/context" >/dev/null
    "${buildah[@]}" push --quiet "narrows:$5" "oci:$3/layout:narrows:$5"
    tar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner -C "$3/layout" -cf "$4" blobs index.json oci-layout
}

# within FILE BYTES: fails when a file is larger.
within() {
    local size
    size=$(stat -c %s "$1")
    echo "$(basename "$1"): $size bytes, at most $2"
    [ "$size" -le "$2" ] && return
    echo "error: $(basename "$1") is too large" >&2
    exit 2
}
