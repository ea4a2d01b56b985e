# Sourced by what looks at pages: $tools has what drives Debian's Chromium. What is missing is named, and that is skipped.
# playwright-core 1.61 is the last that runs on Node 18, which is Debian 12's.
# shellcheck shell=bash
tools=${CARGO_TARGET_DIR:-target}/pages/tools/node_modules

# Labels are laid out by the widths of one font; in it, the widest of the common ones, they must not overlap.
command -v chromium >/dev/null || skip "pages: chromium is not installed (package chromium; scripts/test-tools.sh installs it)"
fc-list 2>/dev/null | grep -q DejaVuSans.ttf || skip "pages: the font DejaVu Sans is not installed (package fonts-dejavu-core)"
command -v npm >/dev/null || skip "pages: npm is not installed (packages nodejs, npm)"
mkdir -p "$(dirname "$tools")"
cp scripts/pages/package.json "$(dirname "$tools")/"
(cd "$(dirname "$tools")" && npm install --silent --no-audit --no-fund --ignore-scripts >/dev/null 2>&1) || skip "pages: the npm registry cannot be reached"
