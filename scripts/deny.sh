#!/usr/bin/env bash
# Licences, bans and sources of everything that is built in (deny.toml). `--install` builds cargo-deny first where it is missing,
# which takes minutes. Advisories are checked only where a copy of their database lies.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PATH:$HOME/.cargo/bin"
if ! command -v cargo-deny >/dev/null; then
    if [ "${1:-}" != --install ]; then
        echo "skipped: licences, bans and sources, since cargo-deny is not installed (scripts/deny.sh --install)"
        exit 0
    fi
    cargo install cargo-deny --locked --version 0.20.2
fi
cargo-deny --locked check --hide-inclusion-graph licenses bans sources
if [ -d target/advisory-db ]; then
    cargo-deny --locked check --disable-fetch advisories
else
    echo "not checked: advisories, since there is no copy of the RustSec database in target/advisory-db"
fi
