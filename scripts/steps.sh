# Sourced by .ci/run and scripts/test.sh: runs steps, prints a line for each with its time and budget, and says last what
# was skipped and why. No time decides whether a step has passed: a host that is shared takes up to three times as long.
# shellcheck shell=bash

steps=()
steps_failed=0

# steps_processors: what the processors have done, and what a machine above this one has taken from them, in ticks (proc(5)).
steps_processors() {
    local name user nice system idle iowait irq softirq steal rest
    read -r name user nice system idle iowait irq softirq steal rest </proc/stat
    echo $((user + nice + system + irq + softirq)) "${steal:-0}"
}
read -ra steps_begin <<<"$(steps_processors)"

# step NAME BUDGET COMMAND...: BUDGET is in seconds on two idle cores; `-` for what only depends on the network.
step() {
    local name=$1 budget=$2 begin=$SECONDS status=0 took verdict=passed
    shift 2
    printf '\n==> %s: %s\n' "$name" "$*"
    "$@" || status=$?
    took=$((SECONDS - begin))
    if [ "$status" != 0 ]; then
        verdict="failed ($status)"
        steps_failed=1
    elif [ "$budget" != - ] && [ "$took" -gt "$budget" ]; then
        verdict="passed, over its budget"
    fi
    steps+=("$(printf '%-26s %5d s of %5s s   %s' "$name" "$took" "$budget" "$verdict")")
    return "$status"
}

# steps_end TITLE [LOG...]: the table of the steps, and the lines `skipped: …` of the logs. Fails if a step has failed.
steps_end() {
    local title=$1 skipped end stolen
    shift
    printf '\n%s\n' "$title"
    printf '%s\n' "${steps[@]}"
    read -ra end <<<"$(steps_processors)"
    stolen=$((100 * (end[1] - steps_begin[1]) / (end[0] - steps_begin[0] + end[1] - steps_begin[1] + 1)))
    [ "$stolen" -lt 5 ] || echo "another machine on this host took $stolen % of the processor time that was asked for"
    if [ $# -gt 0 ]; then
        skipped=$(sed -n 's/^.*skipped: /skipped: /p' "$@" 2>/dev/null | sort | uniq -c | sed 's/^ *1 //; s/^ *\([0-9]*\) /\1 × /') || true
        printf '%s\n' "${skipped:-nothing was skipped}"
    fi
    return "$steps_failed"
}
