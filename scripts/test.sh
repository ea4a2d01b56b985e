#!/usr/bin/env bash
# Installs what the tests need and runs all of them: `make test`. Words choose parts: scripts/test.sh units rig
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/steps.sh
target=${CARGO_TARGET_DIR:-target}
log=$target/test.log
cargo=${CARGO:-cargo}
parts=${*:-tools units attacks rig}

tests() {
    local status=0
    # The whole output is kept, since only there stands what a test that passed has skipped.
    "$cargo" test --locked --no-fail-fast -- --show-output >"$log" 2>&1 || status=$?
    grep -E '^(     Running|   Doc-tests|test result:|[0-9]+ of |error)' "$log" || true
    if [ "$status" != 0 ]; then
        grep -E '^test .*(FAILED|failed)' "$log" || true
        echo "error: tests failed; $log has their output" >&2
        sed -n '/^failures:$/,/^test result/p' "$log" | tail -n 200 >&2
    fi
    return "$status"
}

mkdir -p "$target"
for part in $parts; do
    case $part in
    tools) step "test tools" - scripts/test-tools.sh ;;
    # Building everything the tests need once is most of it.
    units) step "unit and integration tests" 720 tests ;;
    # Races, kills, directories and bounds take longer: `make attacks` runs them.
    attacks) step "attacks" 360 "${MAKE:-make}" --no-print-directory attacks-quick ATTACKS="--only contents/ --only use/ --only journal/" ;;
    rig) step "kernel VM rig" 1020 "${MAKE:-make}" --no-print-directory rig ;;
    *)
        echo "error: there is no part \`$part\`" >&2
        echo "hint: the parts are: tools units attacks rig" >&2
        exit 2
        ;;
    esac || break
done
steps_end "make test" "$log"
