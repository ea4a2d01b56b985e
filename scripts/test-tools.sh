#!/usr/bin/env bash
# Installs the programs that the tests run, by Debian package name. Does nothing for those that are there.
set -euo pipefail
cd "$(dirname "$0")/.."
exec rig/setup.sh
