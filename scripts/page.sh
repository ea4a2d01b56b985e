#!/usr/bin/env bash
# Builds narrows for a browser: scripts/page.sh [FILE], target/page/narrows.html without one. Where no standard library for WebAssembly
# can be had it says so.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/wasm.sh
page=${1:-${CARGO_TARGET_DIR:-target}/page/narrows.html}
has_wasm || skip "this Rust has no standard library for $wasm, so there is no page"
"$cargo" build --locked --quiet --profile page --target "$wasm" -p narrows-page --lib
mkdir -p "$(dirname "$page")"
# Natively, with what the tests have built.
"$cargo" run --locked --quiet -p narrows-page --example assemble -- "${CARGO_TARGET_DIR:-target}/$wasm/page/narrows_page.wasm" "$page"
echo "$page: $(stat -c %s "$page") bytes, its module $(stat -c %s "${CARGO_TARGET_DIR:-target}/$wasm/page/narrows_page.wasm")"
