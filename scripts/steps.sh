# Sourced by .ci/run and scripts/test.sh: runs steps, prints a line for each with its time and budget, and says last what
# was skipped and why. In CI=true a step that exceeds its budget by half has failed.
# shellcheck shell=bash

steps=()
steps_failed=0

# step NAME BUDGET COMMAND...: BUDGET is in seconds on two cores; `-` for what only depends on the network.
step() {
    local name=$1 budget=$2 begin=$SECONDS status=0 took verdict=passed
    shift 2
    printf '\n==> %s: %s\n' "$name" "$*"
    "$@" || status=$?
    took=$((SECONDS - begin))
    if [ "$status" != 0 ]; then
        verdict="failed ($status)"
    elif [ "$budget" != - ] && [ $((took * 2)) -gt $((budget * 3)) ]; then
        verdict="passed, over its budget by more than half"
        [ "${CI:-}" != true ] || status=1
    fi
    steps+=("$(printf '%-26s %5d s of %5s s   %s' "$name" "$took" "$budget" "$verdict")")
    [ "$status" = 0 ] || steps_failed=1
    return "$status"
}

# steps_end TITLE [LOG...]: the table of the steps, and the lines `skipped: …` of the logs. Fails if a step has failed.
steps_end() {
    local title=$1 skipped
    shift
    printf '\n%s\n' "$title"
    printf '%s\n' "${steps[@]}"
    if [ $# -gt 0 ]; then
        skipped=$(sed -n 's/^.*skipped: /skipped: /p' "$@" 2>/dev/null | sort | uniq -c | sed 's/^ *1 //; s/^ *\([0-9]*\) /\1 × /') || true
        printf '%s\n' "${skipped:-nothing was skipped}"
    fi
    return "$steps_failed"
}
