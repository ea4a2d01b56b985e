#!/usr/bin/env bash
# Installs what the tests need and runs everything of one kind once: `make test`. Words choose parts: scripts/test.sh units rig
# With --all it is everything, `make test-all`: all scenarios, attacks, hosts and mutants.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/steps.sh
target=${CARGO_TARGET_DIR:-target}
log=$target/test.log
cargo=${CARGO:-cargo}
# The same inputs of property tests each time: what lands must not depend on luck. `make unit` draws others.
export PROPTEST_RNG_SEED=${PROPTEST_RNG_SEED:-20261125}
all=
name="make test"
if [ "${1:-}" = --all ]; then
    all=yes
    name="make test-all"
    shift
fi
parts=${*:-tools units${all:+ mutants} attacks pages${all:+ page} fleet rig}
make() { command "${MAKE:-make}" --no-print-directory "$@"; }

# These modules of `cli` wait more than they work, and some take turns with others of their process: each part has a process
# of its own, beside the others and beside all other tests.
cli_parts=(
    "guard_search::"
    "guard_clean::"
    "guard_device:: guard_users::"
    "bench_failures:: bench_others:: bench_writes:: bench_kill::"
    "lab_safety::"
    "lab_cli::"
    "hostile_files::"
)

# `load` fills the disk's queue from many rings at once. A submission that waits for the disk keeps the lock of its ring, for seconds
# where processors are short too, and the kernel then does not tell what the ring has registered: narrows rightly writes to no device.
# So these are done before those above begin.
load_modules=(copy_trees:: load_device:: load_pace:: load_run:: load_scratch:: load_write::)

# run_part LOG WORDS...: runs some tests. The whole output is kept, since only there stands what a test that passed has skipped.
run_part() {
    local into=$1
    shift
    "$cargo" test --locked --workspace --no-fail-fast "$@" --show-output >"$into" 2>&1
}

tests() {
    local part words number=0 status=0 running=() logs=() skip=("${load_modules[@]/#/--skip=}")
    rm -f "$target"/test-*.log
    # It takes what the processors have left while tests wait.
    scripts/core.sh >"$target/test-core.log" 2>&1 &
    running+=($!)
    run_part "$log" --no-run -- || status=$?
    if [ "$status" = 0 ]; then
        logs=("$target/test-load.log")
        RUST_TEST_THREADS=4 run_part "${logs[0]}" --test load -- || status=$?
        for part in "${cli_parts[@]}"; do
            number=$((number + 1))
            read -ra words <<<"$part"
            logs+=("$target/test-cli-$number.log")
            run_part "$target/test-cli-$number.log" --test cli -- "${words[@]}" &
            running+=($!)
            skip+=("${words[@]/#/--skip=}")
        done
        # Most of these wait for runs of a fixed time, too.
        RUST_TEST_THREADS=4 run_part "$log" -- "${skip[@]}" || status=$?
    fi
    for part in "${running[@]}"; do wait "$part" || status=$?; done
    grep -hE '^(     Running|   Doc-tests|test result:|[0-9]+ of |error)' "$log" "${logs[@]}" || true
    # What has its own run is left out of the whole one: in no third program must a test have such a name.
    if [ "$status" = 0 ] && [ "$(grep -c ' [1-9][0-9]* filtered out' "$log")" != 2 ]; then
        echo "error: cli_parts and load_modules in scripts/test.sh name tests of other programs than tests/cli and tests/load" >&2
        status=1
    fi
    cat "$target/test-core.log"
    if [ "$status" != 0 ]; then
        grep -hE '^test .*(FAILED|failed)' "$log" "${logs[@]}" || true
        echo "error: tests failed; $target/test*.log have their output" >&2
        sed -sn '/^failures:$/,/^test result/p' "$log" "${logs[@]}" | tail -n 200 >&2
    fi
    return "$status"
}

# Nothing beside it: a browser passes descriptors on, and narrows refuses every device while some are on their way.
attacks() {
    # Races, kills, bytes and bounds take longer.
    local daily="--only contents/ --only use/ --only journal/ --only peer/ --only directory/"
    if [ "$all" ]; then make attacks; else make attacks-quick ATTACKS="$daily"; fi
}

# Where no browser can be had, its log says so among what was skipped. The units have built what makes the pages: built alone, its
# dependencies have other features, and most crates would be built once more.
pages() {
    local gallery= status=0
    case " $parts " in *" units "*) gallery=$target/debug/examples/gallery ;; esac
    GALLERY=$gallery NARROWS_PAGES_ALL=$all scripts/pages.sh >"$target/test-pages.log" 2>&1 || status=$?
    cat "$target/test-pages.log"
    return "$status"
}

# The page for browsers. Every day the core is only compiled for it (scripts/core.sh).
page() {
    local status=0
    scripts/page.sh --check >"$target/test-page.log" 2>&1 || status=$?
    cat "$target/test-page.log"
    return "$status"
}

# Hosts in network namespaces. They measure: nothing runs beside them.
fleet() {
    local status=0
    if [ "$all" ]; then
        make rig-fleet >"$target/test-fleet.log" 2>&1 || status=$?
    else
        make fleet-quick >"$target/test-fleet.log" 2>&1 || status=$?
        # Names that the tests no longer have would be no tests.
        grep -q '^test result: ok. 1 passed' "$target/test-fleet.log" || status=1
    fi
    if [ "$status" != 0 ]; then tail -n 100 "$target/test-fleet.log" >&2; else cat "$target/test-fleet.log"; fi
    return "$status"
}

# A build takes some 9 GB; what then lacks room for its scratch files fails with a sentence of its own, deep in a log.
room_is_told() {
    local free
    free=$(df --output=avail -B1M "$target" | tail -n 1)
    [ "$free" -ge 15000 ] || echo "warning: $free MB free for $target; a build from nothing and the tests take 15000 MB" >&2
}

# A budget holds for what is run every day.
budget() { if [ "$all" ]; then echo -; else echo "$1"; fi; }

mkdir -p "$target"
room_is_told
# What takes hours says all that it finds; what is run every day ends at the first part that fails.
for part in $parts; do
    case $part in
    tools) step "test tools" - scripts/test-tools.sh ;;
    # Building everything that this and the other parts need is most of it.
    units) step "unit and integration tests" "$(budget 600)" tests ;;
    mutants) step "mutants" - make mutants ;;
    attacks) step "attacks" "$(budget 120)" attacks ;;
    # On a clean clone this also fetches what drives the browser.
    pages) step "pages in a browser" "$(budget 75)" pages ;;
    page) step "the page for browsers" - page ;;
    fleet) step "many hosts" "$(budget 75)" fleet ;;
    rig) step "kernel VM rig" "$(budget 300)" make "rig${all:+-full}" ;;
    *)
        echo "error: there is no part \`$part\`" >&2
        echo "hint: the parts are: tools units mutants attacks pages page fleet rig" >&2
        exit 2
        ;;
    esac || [ "$all" ] || break
done
steps_end "$name" "$target"/test*.log
