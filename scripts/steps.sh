# Sourced by .ci/run and scripts/test.sh: runs steps, prints a line for each with its time and budget, and says last what
# was skipped and why. In CI=true a step that exceeds its budget by half has failed.
# shellcheck shell=bash

steps=()
steps_failed=0

# How many hundredths of a second a fixed piece of work took on each of two processors, at once, on the idle machine that the
# budgets were found on.
STEPS_PACE=107
steps_work() {
    local i=0
    while [ $i -lt 150000 ]; do i=$((i + 1)); done
}
# steps_slowness: how many times as long as there it takes here and now, in percent; 100 where it takes less.
steps_slowness() {
    local begin=${EPOCHREALTIME/[.,]/} other took
    steps_work &
    other=$!
    steps_work
    wait "$other"
    took=$(((${EPOCHREALTIME/[.,]/} - begin) / 100 / STEPS_PACE))
    echo $((took > 100 ? took : 100))
}
# steps_processors: what the processors have done, and what a machine above this one has taken from them, in ticks (proc(5)).
steps_processors() {
    local name user nice system idle iowait irq softirq steal rest
    read -r name user nice system idle iowait irq softirq steal rest </proc/stat
    echo $((user + nice + system + irq + softirq)) "${steal:-0}"
}
steps_slowest=$(steps_slowness)

# steps_within SECONDS BUDGET BUSY STOLEN: whether a step that was so busy ended before its budget was exceeded by half. On a slower
# machine than that of the budgets it may take longer by as much, and so it may by what was taken from this one meanwhile.
steps_within() {
    local now
    [ $(($1 * 2)) -gt $(($2 * 3)) ] || return 0
    now=$(steps_slowness)
    [ "$now" -le "$steps_slowest" ] || steps_slowest=$now
    [ $(($1 * 200 * $3)) -le $(($2 * 3 * steps_slowest * ($3 + $4))) ]
}

# step NAME BUDGET COMMAND...: BUDGET is in seconds on two cores; `-` for what only depends on the network.
step() {
    local name=$1 budget=$2 begin=$SECONDS status=0 took verdict=passed before after
    shift 2
    read -ra before <<<"$(steps_processors)"
    printf '\n==> %s: %s\n' "$name" "$*"
    "$@" || status=$?
    took=$((SECONDS - begin))
    read -ra after <<<"$(steps_processors)"
    if [ "$status" != 0 ]; then
        verdict="failed ($status)"
    elif [ "$budget" != - ] && ! steps_within "$took" "$budget" $((after[0] - before[0] + 1)) $((after[1] - before[1])); then
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
    if [ "$steps_slowest" -gt 110 ]; then
        echo "this machine took $steps_slowest % of the time that a piece of work takes on the one that the budgets are for"
    fi
    if [ $# -gt 0 ]; then
        skipped=$(sed -n 's/^.*skipped: /skipped: /p' "$@" 2>/dev/null | sort | uniq -c | sed 's/^ *1 //; s/^ *\([0-9]*\) /\1 × /') || true
        printf '%s\n' "${skipped:-nothing was skipped}"
    fi
    return "$steps_failed"
}
