#!/usr/bin/env bash
# Sees to it that the programs are there that a benchmark compares with, from Debian's or Ubuntu's packages.
#   scripts/peers.sh PROGRAM=PACKAGE...
# Fails, and names what is missing, where it cannot install them.
set -euo pipefail
missing=()
for pair in "$@"; do
    command -v "${pair%%=*}" >/dev/null || missing+=("${pair##*=}")
done
[ ${#missing[@]} -gt 0 ] || exit 0
if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
    echo "installing ${missing[*]}" >&2
    apt-get update -qq && env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null && exit 0
fi
echo "error: not installed: ${missing[*]}" >&2
echo "hint: as root: apt-get install --no-install-recommends ${missing[*]}" >&2
exit 2
