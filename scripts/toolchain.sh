#!/usr/bin/env bash
# Makes sure that there is a Rust toolchain new enough for this project; installs Debian's or Ubuntu's where it can.
#   scripts/toolchain.sh            what building needs
#   scripts/toolchain.sh --lints    rustfmt and clippy too
set -euo pipefail
cd "$(dirname "$0")/.."
wanted=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
cargo=${CARGO:-cargo}

fail() {
    echo "error: $1" >&2
    echo "hint: $2" >&2
    exit 1
}
has_rust() { new_enough "$("$cargo" --version 2>/dev/null | awk '{print $2}')"; }
has_lints() { "$cargo" fmt --version >/dev/null 2>&1 && "$cargo" clippy --version >/dev/null 2>&1; }
new_enough() { [ -n "$1" ] && [ "$(printf '%s\n%s\n' "$wanted" "$1" | sort -V | head -n 1)" = "$wanted" ]; }
by_hand="install a current toolchain (https://rustup.rs) and a C compiler, then run this again"

install() {
    command -v apt-get >/dev/null || fail "cannot install $*: this is neither Debian nor Ubuntu" "$by_hand"
    local sudo=()
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || fail "cannot install $* without root or sudo" "$by_hand"
        sudo=(sudo)
    fi
    if [ -z "${updated:-}" ]; then
        "${sudo[@]}" apt-get update -qq
        updated=yes
    fi
    echo "installing $*" >&2
    "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}
is_offered() { new_enough "$(apt-cache policy "$1" | awk '/Candidate:/ {print $2}')"; }

if ! command -v cc >/dev/null; then
    install gcc libc6-dev
fi
if ! has_rust; then
    echo "narrows needs Rust $wanted or newer" >&2
    # cargo and rustup need them; and the package lists of a fresh machine are empty until something is installed.
    install ca-certificates
    if is_offered cargo; then
        install cargo rustc
    elif is_offered cargo-web; then
        # A current Rust that Debian keeps in its stable releases to build browsers with.
        install cargo-web rustc-web
    elif apt-cache show rustup >/dev/null 2>&1; then
        install rustup
        rustup --quiet default stable
    fi
    has_rust || fail "this distribution has no Rust $wanted or newer" "$by_hand"
fi
if [ "${1:-}" = --lints ] && ! has_lints; then
    if command -v rustup >/dev/null; then
        rustup --quiet component add rustfmt clippy
    elif dpkg-query -W cargo-web >/dev/null 2>&1; then
        fail "cargo-web comes without clippy" "$by_hand"
    else
        install rustfmt rust-clippy
    fi
    has_lints || fail "there is no rustfmt or clippy for this toolchain" "rustup component add rustfmt clippy"
fi
