#!/usr/bin/env bash
# Runs all attacks: in the rig's virtual machines those that need a kernel of their own, here all others, and shows one table.
# What could not be run in either place counts as skipped. Called by `make attacks`: attacks/run.sh BINARY [OPTIONS]
set -euo pipefail
cd "$(dirname "$0")/.."
binary=$1
shift
target=${CARGO_TARGET_DIR:-target}
cargo=${CARGO:-cargo}
with=()

for file in rig/scenarios/attack-*.toml; do
    scenario=$(basename "$file" .toml)
    summary=$target/rig/run/$scenario/result/attacks.json
    rm -f "$summary"
    # An attack that broke something is counted below, in the table.
    "$cargo" test --locked --workspace --quiet --test rig -- "$scenario" || echo "attacks: $scenario: see the table"
    if [ -e "$summary" ]; then
        with+=(--with "$summary")
    else
        echo "attacks: $scenario left no table: its attacks are skipped" >&2
    fi
done
exec "$cargo" test --locked --workspace --quiet --test attacks -- --binary "$binary" "${with[@]}" "$@"
