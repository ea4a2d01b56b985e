#!/usr/bin/env bash
# Makes sure that there is a Rust toolchain new enough for this project; installs Debian's or Ubuntu's where it can.
set -euo pipefail
cd "$(dirname "$0")/.."
wanted=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
sudo=$([ "$(id -u)" -eq 0 ] || echo sudo)

version_of() { "$1" --version 2>/dev/null | awk '{print $2}'; }
new_enough() { [ -n "$1" ] && [ "$(printf '%s\n%s\n' "$wanted" "$1" | sort -V | head -n 1)" = "$wanted" ]; }

if new_enough "$(version_of "${CARGO:-cargo}")" && command -v cc >/dev/null; then
    exit 0
fi
echo "narrows needs Rust $wanted or newer and a C linker; installing them from your distribution" >&2
$sudo apt-get update -qq
$sudo apt-get install -y -qq --no-install-recommends gcc libc6-dev
if ! new_enough "$(version_of "${CARGO:-cargo}")"; then
    if new_enough "$(apt-cache policy cargo | awk '/Candidate:/ {print $2}')"; then
        $sudo apt-get install -y -qq --no-install-recommends cargo rustc
    elif apt-cache show rustup >/dev/null 2>&1; then
        $sudo apt-get install -y -qq --no-install-recommends rustup
        rustup default stable
    fi
fi
if ! new_enough "$(version_of "${CARGO:-cargo}")"; then
    echo "error: this distribution has no Rust $wanted" >&2
    echo "hint: install a current toolchain with rustup, then run make again" >&2
    exit 1
fi
