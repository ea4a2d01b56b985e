#!/usr/bin/env bash
# How long `narrows FILE` takes for one large file of fio, and how much memory it needs at most, beside jq on the same
# file in the same run: a JSON+ of thousands of jobs, and a log of every I/O. Both read each file once before (so that it
# is in the page cache for both) and then three times in turn; the median counts.
# Fails when narrows is slower than jq, or needs 300 MB or more.
# Then a table of time and memory for 1, 10 and 50 MB of texts that people paste and of our own JSON. It fails where memory
# passes 64 MB and 40 times the text, or 1 GB, or where ten times the text takes more than twenty times as long.
#   scripts/import-bench.sh [MB]    (500 MB each unless told otherwise; 0: the table alone)
set -euo pipefail
cd "$(dirname "$0")/.."
size=${1:-500}
narrows=${CARGO_TARGET_DIR:-target}/release/narrows
scripts/peers.sh jq=jq python3=python3 /usr/bin/time=time || exit 2
if [ ! -x "$narrows" ]; then
    echo "import-bench.sh: needs a release build of narrows" >&2
    echo "hint: cargo build --release" >&2
    exit 2
fi
work=$(mktemp -d "${TMPDIR:-/var/tmp}/narrows-import.XXXXXX")
trap 'rm -rf "$work"' EXIT

# Jobs as fio 3.33 prints them with --output-format=json+, each with 1200 bins for reads and for writes.
python3 - "$size" "$work" <<'PY'
import json, pathlib, random, sys
size, into = int(sys.argv[1]) * 1_000_000, pathlib.Path(sys.argv[2])
rng = random.Random(5)
PERCENTILES = [1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99, 99.5, 99.9, 99.95, 99.99]

def latency(mean, with_bins):
    value = {"min": mean // 2, "max": mean * 90, "mean": mean + 0.25, "stddev": mean / 3, "N": 750_000}
    if with_bins:
        value["percentile"] = {f"{p:.6f}": int(mean * (0.5 + p / 90)) for p in PERCENTILES}
        value["bins"] = {str(mean // 2 + 64 * n): rng.randrange(1, 20_000) for n in range(1200)}
    return value

def side(iops):
    mean = 4_000_000_000 // iops
    return {"io_bytes": iops * 4096 * 60, "io_kbytes": iops * 240, "bw_bytes": iops * 4096, "bw": iops * 4,
            "iops": iops + 0.5, "runtime": 60_000, "total_ios": iops * 60, "short_ios": 0, "drop_ios": 0,
            "slat_ns": latency(1500, False), "clat_ns": latency(mean, True), "lat_ns": latency(mean + 1500, False),
            "bw_min": iops * 3, "bw_max": iops * 5, "bw_agg": 100.0, "bw_mean": iops * 4.0, "bw_dev": 9.5,
            "bw_samples": 119, "iops_min": iops - 90, "iops_max": iops + 90, "iops_mean": iops + 0.25,
            "iops_stddev": 20.5, "iops_samples": 119}

def job(number):
    iops = rng.randrange(10_000, 14_000)
    return {"jobname": f"NAME", "groupid": number, "error": 0, "eta": 0, "elapsed": 61,
            "job options": {"name": "NAME", "rw": "randrw", "bs": "4k", "iodepth": "4", "direct": "1",
                            "ioengine": "io_uring", "filename": "/dev/nvme0n1", "runtime": "60"},
            "read": side(iops), "write": side(iops // 2), "job_runtime": 60_000, "usr_cpu": 12.5, "sys_cpu": 30.25,
            "ctx": 100, "majf": 0, "minf": 10, "iodepth_level": {"1": 0.1, "2": 0.1, "4": 99.8}}

# Sixteen jobs in turn under different names: fio's own printer is no part of what is measured.
texts = ["\n".join("    " + line for line in json.dumps(job(n), indent=2).splitlines()) for n in range(16)]
jobs = written = 0
with open(into / "plus.json", "w") as out:
    out.write('{\n  "fio version" : "fio-3.33",\n  "timestamp" : 1700000000,\n  "global options" : {},\n  "jobs" : [\n')
    while written < size:
        text = texts[jobs % 16].replace("NAME", f"job{jobs}")
        out.write((",\n" if jobs else "") + text)
        written += len(text) + 2
        jobs += 1
    out.write("\n  ]\n}\n")
print(f"JSON+: {jobs} jobs, {written / 1e6:.0f} MB")

# A log of every I/O with its offset: clat in ns, 60 s.
lines = size // 42
with open(into / "big_clat.1.log", "w") as out:
    at, left = 0, lines
    while left > 0:
        count = min(left, 100_000)
        out.write("".join(f"{60_000 * (at + n) // lines}, {80_000 + (n * 7919) % 40_000}, {n & 1}, 4096, "
                          f"{(n * 104_729) % 500_000 * 4096}, 0\n" for n in range(count)))
        at, left = at + count, left - count
print(f"log: {lines} lines, {(into / 'big_clat.1.log').stat().st_size / 1e6:.0f} MB")
PY

measure() { # NAME COMMAND...: seconds of processor and wall time, and kB of memory, of one run
    local name=$1
    shift
    # 1 means findings.
    /usr/bin/time -q -o "$work/once" -f '%e %M' "$@" >"$work/$name.out" || [ $? -eq 1 ]
    cat "$work/once" >>"$work/$name.times"
}
median() { sort -n "$1" | sed -n 2p; }

failed=0
compare() { # FILE JQ-OPTION...
    local file=$1
    shift
    cat "$work/$file" >/dev/null
    for _ in 1 2 3; do
        measure "$file.jq" jq "$@" "$work/$file"
        measure "$file.narrows" "$narrows" --json "$work/$file"
    done
    paste <(median "$work/$file.jq.times") <(median "$work/$file.narrows.times") | awk -v file="$file" '{
        printf "%-15s jq %.2f s, %.0f MB; narrows %.2f s, %.0f MB: %.2f times as long as jq\n",
            file, $1, $2 * 1.024e-3, $3, $4 * 1.024e-3, $3 / $1
        exit ($3 > $1 || $4 * 1024 >= 300e6)
    }' || { echo "$file: too slow, or too much memory" >&2; failed=1; }
}
if [ "$size" != 0 ]; then
    compare plus.json length
    # A log is no JSON: jq is given each line as a text, which is the least that it can do.
    compare big_clat.1.log -R length
fi

# Real outputs of this repository, repeated with other numbers in them.
python3 - "$work" "$narrows" <<'PY' || failed=1
import os, pathlib, re, subprocess, sys
work, narrows = pathlib.Path(sys.argv[1]), sys.argv[2]
DD = "$ dd if=/dev/zero of=/mnt/f{n} bs=1M count=1024 oflag=direct\n1024+0 records in\n1024+0 records out\n" \
     "1073741824 bytes (1.1 GB, 1.0 GiB) copied, 2.{n:03} s, 500 MB/s\n"
OWN = '{{"name":"t{n}","load":{{"pattern":"random","block_size":4096,"queue_depth":32,"parallel":{{"threads":1}},' \
      '"write_percent":0,"buffered":false}},"write":null,"read":{{"bytes_per_second":5{n:05}.5,"ci95":[490,510],"iops":1}}}},\n'
JOB = '{{"jobname":"j{n}","groupid":{n},"error":0,"job options":{{"rw":"randread","bs":"4k","iodepth":"4"}},"read":{{' \
      '"io_bytes":4096000,"bw_bytes":5{n:05},"iops":1000.0,"runtime":1000,"total_ios":1000}}}},\n'
sample = lambda path: pathlib.Path(path).read_text().replace("{", "{{").replace("}", "}}")
FIO = re.sub("pid=[0-9]+", "pid={n}", sample("tests/data/fio/3.33/normal-json-terse.txt").split("{{\n")[0])
LOG = "[{n:5}.000000] nvme 0000:0{d}:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)\n" \
      "[{n:5}.000001] ata{d}.00: exception Emask 0x0 SAct 0x0 SErr 0x0 action 0x6 frozen\n"
PCI = re.sub("(?m)^[0-9a-f]{2}:[0-9a-f]{2}[.]", "{b:02x}:{s:02x}.", sample("tests/cases/001-pex-gen4-switch-trains-gen3/lspci-vvv.txt"))
KINDS = [("dd", "", DD, "FILE"), ("fio text", "", FIO, "FILE"), ("own JSON", '{"schema":"narrows/measure/1","results":[\n', OWN, "FILE"),
         ("fio JSON", '{"fio version":"fio-3.33","jobs":[\n', JOB, "FILE"), ("dmesg", "", LOG, "FILE"), ("lspci", "", PCI, "FILE"),
         ("fio JSON, compare", '{"fio version":"fio-3.33","jobs":[\n', JOB, "compare FILE FILE"),
         ("own JSON, compare", '{"schema":"narrows/measure/1","results":[\n', OWN, "compare FILE FILE")]
failed = False
for name, head, thing, words in KINDS:
    row, before = [], None
    for size in (1, 10, 50):
        path = work / "text.json"
        with open(path, "w") as out:
            written, n = out.write(head), 0
            while written < size * 1_000_000:
                written, n = written + out.write(thing.format(n=n, d=n % 9, b=n % 256, s=n // 256 % 32)), n + 1
            out.write("{}]}\n" if head else "")
        once = subprocess.Popen([narrows, *words.replace("FILE", str(path)).split()], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, used = os.wait4(once.pid, 0)
        time, memory = used.ru_utime + used.ru_stime, used.ru_maxrss * 1024
        failed |= os.waitstatus_to_exitcode(status) not in (0, 1, 2) or memory > min(1e9, 64e6 + 40 * path.stat().st_size * words.count("FILE"))
        failed |= before is not None and time > 2 * (size / before[0]) * before[1] + 0.5
        row, before = [*row, f"{size} MB: {time:.2f} s, {memory / 1e6:.0f} MB"], (size, time)
    print(f"{name:18} {'; '.join(row)}", flush=True)
if failed:
    sys.exit("texts: too slow, or too much memory")
PY
exit $failed
