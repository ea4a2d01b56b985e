#!/usr/bin/env bash
# Looks at pages in Debian's Chromium: scripts/pages.sh [DIRECTORY of pages]. Without one it makes pages of the reports in tests/figures.
# What is missing is installed, or the test says that it is skipped.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo=${CARGO:-cargo}
target=${CARGO_TARGET_DIR:-target}
place=$target/pages

skip() {
    echo "skipped: pages: $*"
    exit 0
}

if ! command -v chromium >/dev/null || ! fc-list 2>/dev/null | grep -q DejaVuSans.ttf; then
    [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || skip "chromium and fonts-dejavu-core are not installed"
    apt-get update -q >/dev/null && apt-get install -y -q --no-install-recommends chromium fonts-dejavu-core fontconfig nodejs npm >/dev/null ||
        skip "chromium cannot be installed"
fi
command -v npm >/dev/null || skip "npm is not installed"
mkdir -p "$place/tools"
cp scripts/pages/package.json "$place/tools/"
(cd "$place/tools" && npm install --silent --no-audit --no-fund --ignore-scripts >/dev/null 2>&1) || skip "the npm registry cannot be reached"

pages=${1:-}
if [ -z "$pages" ]; then
    pages=$place/html
    rm -rf "$pages"
    "$cargo" run --locked --quiet -p narrows-report --example gallery -- tests/figures "$place/svg" "$pages"
fi
NODE_PATH=$place/tools/node_modules node scripts/pages/look.cjs "$pages"
