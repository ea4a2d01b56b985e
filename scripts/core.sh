#!/usr/bin/env bash
# Checks that the pure core compiles for a browser (wasm32-unknown-unknown): it opens nothing, asks no clock and knows no Linux call.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/wasm.sh
has_wasm || skip "this Rust has no standard library for $wasm, so the pure core was not checked for it"
# A directory of its own: what is built there would have others wait for it.
CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-target}/core nice -n 19 "$cargo" check --locked --quiet --target "$wasm" -p narrows-page --lib
