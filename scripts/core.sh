#!/usr/bin/env bash
# Checks that the pure core compiles for a browser (wasm32-unknown-unknown): it opens nothing, asks no clock and knows no Linux call.
set -euo pipefail
cd "$(dirname "$0")/.."
wasm=wasm32-unknown-unknown
cargo=${CARGO:-cargo}
has_wasm() { [ -d "$(rustc --print sysroot)/lib/rustlib/$wasm/lib" ]; }

if ! has_wasm && command -v rustup >/dev/null; then
    rustup --quiet target add "$wasm" || true
fi
if ! has_wasm; then
    echo "skipped: this Rust has no standard library for $wasm, so the pure core was not checked for it"
    exit 0
fi
# A directory of its own: what is built there would have others wait for it.
CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-target}/core nice -n 19 "$cargo" check --locked --quiet --target "$wasm" \
    -p narrows-base -p narrows-machine -p narrows-paste -p narrows-model -p narrows-verdict -p narrows-report -p narrows-answer
