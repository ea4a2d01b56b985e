#!/usr/bin/env bash
# How long a change of one crate takes to be checked and tested: adds a constant to the root file of each crate, one crate
# after another, and takes the time of `cargo check -p CRATE` and of its unit tests (with what must be built for them). Each
# is done once before, so that only the change is timed; every file is as before afterwards. Other work on the machine makes
# the times longer.
#   scripts/touch-times.sh [CRATE…]    (all crates of the product unless named: narrows-verdict narrows)
# CARGO=COMMAND runs another program in the place of cargo.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo=${CARGO:-cargo}
crates=("$@")
[ $# -gt 0 ] || crates=(narrows-base narrows-machine narrows-paste narrows-model narrows-load narrows-verdict narrows-session
    narrows-watch narrows-report narrows-answer narrows-runs narrows)
work=$(mktemp -d)
changed=
restore() {
    [ -z "$changed" ] || cp -p "$work/before" "$changed"
    changed=
}
trap 'restore; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP

# The file that is changed, and the unit tests of its crate.
root_of() { if [ "$1" = narrows ]; then echo src/main.rs; else echo "crates/$1/src/lib.rs"; fi; }
tests_of() { if [ "$1" = narrows ]; then echo --bins; else echo --lib; fi; }

# Runs a command that must end well, and says what it said where it does not.
quietly() {
    "$@" >"$work/said" 2>&1 || {
        cat "$work/said" >&2
        echo "error: \`$*\` failed" >&2
        exit 2
    }
}

# The same, and the seconds that it took.
timed() {
    local begin
    begin=$(date +%s%N)
    quietly "$@"
    awk -v span="$(($(date +%s%N) - begin))" 'BEGIN { printf "%.1f", span / 1e9 }'
}

for crate in "${crates[@]}"; do
    [ -f "$(root_of "$crate")" ] || { echo "error: there is no crate \`$crate\`" >&2; exit 2; }
done
printf '%-18s %10s %14s\n' crate check 'unit tests'
for crate in "${crates[@]}"; do
    file=$(root_of "$crate")
    quietly $cargo check -p "$crate"
    quietly $cargo test -p "$crate" "$(tests_of "$crate")"
    cp -p "$file" "$work/before"
    changed=$file
    printf '\nconst _: u64 = %s;\n' "$RANDOM" >>"$file"
    check=$(timed $cargo check -p "$crate")
    tests=$(timed $cargo test -p "$crate" "$(tests_of "$crate")")
    restore
    printf '%-18s %8s s %12s s\n' "$crate" "$check" "$tests"
done
