# Sourced by what builds for a browser: has_wasm tells whether this Rust can, and adds what rustup has for it.
# shellcheck shell=bash
wasm=wasm32-unknown-unknown
cargo=${CARGO:-cargo}
there() { [ -d "$(rustc --print sysroot)/lib/rustlib/$wasm/lib" ]; }
has_wasm() {
    there || { command -v rustup >/dev/null && rustup --quiet target add "$wasm" && there; }
}
# skip WHY: says it, and ends in peace.
skip() {
    echo "skipped: $*"
    exit 0
}
