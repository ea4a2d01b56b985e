#!/usr/bin/env bash
# How long `narrows --json` takes beside `lstopo --of xml` (package hwloc), each run alternately in one go, and
# how much memory it needs at most. Fails when it takes 200 ms or more, longer than lstopo, or 30 MB or more.
#   scripts/perf.sh [RUNS]    (20 of each unless told otherwise)
set -euo pipefail
cd "$(dirname "$0")/.."
runs=${1:-20}
narrows=${CARGO_TARGET_DIR:-target}/release/narrows
scripts/peers.sh lstopo=hwloc /usr/bin/time=time || exit 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# One run: its time in nanoseconds goes to $2.times, its peak memory in KiB to $2.memory.
once() {
    local name=$1 begin end status=0
    shift
    begin=$(date +%s%N)
    "$@" >/dev/null 2>&1 || status=$?
    end=$(date +%s%N)
    # 1 means findings.
    [ "$status" -le 1 ] || { echo "perf.sh: $* ended with status $status" >&2; exit 2; }
    echo $((end - begin)) >>"$work/$name.times"
}
peak() { { /usr/bin/time -f 'peak %M' "$@" >/dev/null; } 2>&1 | sed -n 's/^peak //p'; }

once warm "$narrows" --json
once warm lstopo --of xml
for _ in $(seq "$runs"); do
    once narrows "$narrows" --json
    once lstopo lstopo --of xml
done
narrows_kib=$(peak "$narrows" --json)
lstopo_kib=$(peak lstopo --of xml)
median() { sort -n "$work/$1.times" | awk '{ v[NR] = $1 } END { print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2e6 }'; }
awk -v runs="$runs" -v ours="$(median narrows)" -v theirs="$(median lstopo)" \
    -v our_kib="$narrows_kib" -v their_kib="$lstopo_kib" 'BEGIN {
    printf "%-22s %10s %12s\n", "median of " runs " runs", "time", "peak memory"
    printf "%-22s %7.1f ms %9.1f MB\n", "narrows --json", ours, our_kib * 1.024e-3
    printf "%-22s %7.1f ms %9.1f MB\n", "lstopo --of xml", theirs, their_kib * 1.024e-3
    printf "ratio of the times: %.2f\n", ours / theirs
    bad = 0
    if (ours >= 200) { print "FAIL: 200 ms or more"; bad = 1 }
    if (ours > theirs) { print "FAIL: slower than lstopo"; bad = 1 }
    if (our_kib * 1.024e-3 >= 30) { print "FAIL: 30 MB or more"; bad = 1 }
    exit bad
}'
