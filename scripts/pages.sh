#!/usr/bin/env bash
# Looks at pages in Debian's Chromium: scripts/pages.sh [DIRECTORY of pages]. Without one it makes pages of the reports in tests/figures,
# with GALLERY if that is built already (the example of narrows-runs).
# playwright-core 1.61 is the last that runs on Node 18, which is Debian 12's.
# What is missing is named, and the test says that it is skipped. `make test` installs it.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo=${CARGO:-cargo}
target=${CARGO_TARGET_DIR:-target}
place=$target/pages

skip() {
    echo "skipped: pages: $*"
    exit 0
}

# Labels are laid out by the widths of one font; in it, the widest of the common ones, they must not overlap.
command -v chromium >/dev/null || skip "chromium is not installed (package chromium; scripts/test-tools.sh installs it)"
fc-list 2>/dev/null | grep -q DejaVuSans.ttf || skip "the font DejaVu Sans is not installed (package fonts-dejavu-core)"
command -v npm >/dev/null || skip "npm is not installed (packages nodejs, npm)"
mkdir -p "$place/tools"
cp scripts/pages/package.json "$place/tools/"
(cd "$place/tools" && npm install --silent --no-audit --no-fund --ignore-scripts >/dev/null 2>&1) || skip "the npm registry cannot be reached"

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
NODE_PATH=$place/tools/node_modules node scripts/pages/look.cjs "$pages"
