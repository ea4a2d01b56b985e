#!/usr/bin/env bash
# Looks at pages in Debian's Chromium: scripts/pages.sh [DIRECTORY of pages]. Without one it makes pages of the reports in tests/figures,
# with GALLERY if that is built already (the example of narrows-runs).
# What is missing is named, and the test says that it is skipped. `make test` installs it.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo=${CARGO:-cargo}
target=${CARGO_TARGET_DIR:-target}
place=$target/pages

. scripts/wasm.sh
. scripts/browser.sh

pages=${1:-}
if [ -z "$pages" ]; then
    pages=$place/html
    rm -rf "$pages"
    if [ -x "${GALLERY:-}" ]; then
        "$GALLERY" tests/figures "$place/svg" "$pages"
    else
        "$cargo" run --locked --quiet -p narrows-runs --example gallery -- tests/figures "$place/svg" "$pages"
    fi
fi
NODE_PATH=$tools node scripts/pages/look.cjs "$pages"
