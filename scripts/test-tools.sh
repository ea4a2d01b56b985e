#!/usr/bin/env bash
# Installs the programs that the tests run, by Debian package name. Does nothing for those that are there.
set -euo pipefail
cd "$(dirname "$0")/.."
rig/setup.sh

# The browser that looks at pages, the one font that labels are laid out for, and what drives it; a launcher for many hosts. What needs
# one that is not there is skipped.
missing=
for pair in chromium:chromium fc-list:fontconfig node:nodejs npm:npm clush:clustershell; do
    command -v "${pair%:*}" >/dev/null || missing="$missing ${pair#*:}"
done
fc-list 2>/dev/null | grep -q DejaVuSans.ttf || missing="$missing fonts-dejavu-core"
if [ -n "$missing" ] && [ "$(id -u)" = 0 ]; then
    # shellcheck disable=SC2086 # a list of names
    DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $missing || echo "not installed:$missing"
fi

# Prometheus and node_exporter are unpacked and not installed: their packages start services that listen.
tools=${CARGO_TARGET_DIR:-target}/tools
if ! command -v prometheus >/dev/null && [ ! -e "$tools/usr/bin/prometheus" ]; then
    rm -rf "$tools.new"
    mkdir -p "$tools.new/packages"
    (cd "$tools.new/packages" && apt-get download -q prometheus prometheus-node-exporter)
    for package in "$tools.new"/packages/*.deb; do dpkg -x "$package" "$tools.new"; done
    rm -rf "$tools.new/packages" "$tools"
    mv "$tools.new" "$tools"
fi
