#!/usr/bin/env bash
# Installs the programs that the tests run, by Debian package name. Does nothing for those that are there.
set -euo pipefail
cd "$(dirname "$0")/.."
rig/setup.sh

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
