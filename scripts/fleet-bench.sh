#!/usr/bin/env bash
# How long `narrows DIR --fleet` takes for many captures, and how much memory it needs at most. The captures
# are made by varying the texts of the given cases: names of hosts, serial numbers and the width of links differ.
# Fails when COUNT captures take longer than 6 ms each in all (60 s for 10,000), or need 500 MB or more.
#   scripts/fleet-bench.sh [COUNT] [CASES]    (10000 captures of tests/cases unless told otherwise)
set -euo pipefail
cd "$(dirname "$0")/.."
count=${1:-10000}
cases=${2:-tests/cases}
narrows=${CARGO_TARGET_DIR:-target}/release/narrows
scripts/peers.sh /usr/bin/time=time python3=python3 || exit 2
if [ ! -x "$narrows" ]; then
    echo "fleet-bench.sh: needs a release build of narrows" >&2
    echo "hint: cargo build --release" >&2
    exit 2
fi
work=$(mktemp -d "${TMPDIR:-/var/tmp}/narrows-fleet.XXXXXX")
trap 'rm -rf "$work"' EXIT

# A capture is all own texts of a case in one file. A width of x8 or x16 becomes x4 in one of 16 captures.
python3 - "$cases" "$count" "$work/captures" <<'PY'
import json, pathlib, sys
cases, count, into = pathlib.Path(sys.argv[1]), int(sys.argv[2]), pathlib.Path(sys.argv[3])
texts = []
for directory in sorted(cases.iterdir()):
    if not (directory / "case.json").is_file():
        continue
    files = json.loads((directory / "case.json").read_text())["files"]
    own = [directory / name for name in files if "other-machine" not in name]
    texts.append("\n".join(path.read_text(errors="replace") for path in own))
if not texts:
    sys.exit(f"fleet-bench.sh: no case in {cases}")
into.mkdir()
total = 0
for number in range(count):
    text = texts[number % len(texts)]
    if number // len(texts) % 16 == 3:
        text = text.replace("Width x8", "Width x4").replace("Width x16", "Width x8")
    text += f"\nhost{number:05} serial {number * 7919 % 1000003}\n"
    total += len(text)
    (into / f"host{number:05}.txt").write_text(text)
print(f"{count} captures of {len(texts)} machines, {total / 1e6:.0f} MB")
PY

measure() {
    # How it is called, and the option; 1 means findings.
    /usr/bin/time -q -o "$work/$1.time" -f '%e %U %S %M' \
        "$narrows" "$work/captures" --fleet ${2:+"$2"} >"$work/$1.out" || [ $? -eq 1 ]
    echo "$1: $(awk '{ printf "%.1f s, %.1f s of processor time, %.0f MB at most", $1, $2 + $3, $4 / 1024 * 1.048576 }' "$work/$1.time"), $(wc -l <"$work/$1.out") lines"
}
measure csv --csv
measure jsonl --json
# Memory must not grow with the number of captures but for what is counted of each.
rm "$work"/captures/host*[1-9].txt
echo "a tenth of them:"
measure table
awk -v count="$count" '{ if ($1 > count * 0.006) { print "too slow" ; exit 1 } if ($4 * 1024 >= 500e6) { print "too much memory"; exit 1 } }' \
    "$work/csv.time" "$work/jsonl.time"
