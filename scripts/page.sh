#!/usr/bin/env bash
# Builds narrows for a browser: scripts/page.sh [--check] [FILE], target/page/narrows.html without one. With --check it is tried: what the
# module says beside what the program says of every case, and the page in Chromium. Where no standard library for WebAssembly can be had,
# or no browser, that is said.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/wasm.sh
check=
if [ "${1:-}" = --check ]; then
    check=yes
    shift
fi
page=${1:-${CARGO_TARGET_DIR:-target}/page/narrows.html}
has_wasm || skip "this Rust has no standard library for $wasm, so there is no page"
module=${CARGO_TARGET_DIR:-target}/$wasm/page/narrows_page.wasm
# Searching is most of the work; browsers have had these instructions since 2023.
RUSTFLAGS="${RUSTFLAGS:-} -Ctarget-feature=+simd128" \
    "$cargo" rustc --locked --quiet --profile page --target "$wasm" -p narrows-page --lib --crate-type cdylib
mkdir -p "$(dirname "$page")"
# Natively, with what the tests have built.
"$cargo" run --locked --quiet -p narrows-page --example assemble -- "$module" "$page"
echo "$page: $(stat -c %s "$page") bytes; its module $(stat -c %s "$module"), packed $(gzip -9c "$module" | wc -c)"
[ "$check" ] || exit 0

command -v node >/dev/null || skip "page: node is not installed (package nodejs; scripts/test-tools.sh installs it)"
"$cargo" build --locked --quiet
node scripts/page/equal.cjs "$module" "${CARGO_TARGET_DIR:-target}/debug/narrows" tests/cases tests/result-cases tests/systems
. scripts/browser.sh
NODE_PATH=$tools node scripts/page/look.cjs "$page" tests/cases
