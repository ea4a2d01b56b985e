#!/usr/bin/env bash
# Fuzzes one target, or each of them in turn, with the compiler that is there (nightly or not) and libFuzzer.
#   scripts/fuzz.sh [TARGET [SECONDS]]    (all, 60 s each)
# New inputs go to fuzz/corpus/TARGET, an input that fails to fuzz/artifacts/TARGET; give that file to the program in
# fuzz/target/<triple>/release to see it fail again.
set -euo pipefail
cd "$(dirname "$0")/../fuzz"
known=$(sed -n 's|^path = "fuzz_targets/\(.*\)\.rs"|\1|p' Cargo.toml)
targets=${1:-$known}
seconds=${2:-60}
for target in $targets; do
    if ! grep -qx "$target" <<<"$known"; then
        echo "error: there is no fuzz target \`$target\`" >&2
        echo "hint: the targets are: ${known//$'\n'/, }" >&2
        exit 2
    fi
done
command -v c++ >/dev/null || { echo "error: libFuzzer needs a C++ compiler" >&2; echo "hint: apt-get install g++" >&2; exit 2; }

# What cargo-fuzz passes: coverage for libFuzzer, comparisons traced, AddressSanitizer. A stable compiler has them too,
# behind this switch.
triple=$(rustc -vV | sed -n 's/^host: //p')
export RUSTC_BOOTSTRAP=1
export RUSTFLAGS="-Zsanitizer=address -Ccodegen-units=1 -Cpasses=sancov-module \
-Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
-Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares"
bins=()
for target in $targets; do bins+=(--bin "$target"); done
cargo build --quiet --release --target "$triple" "${bins[@]}"

for target in $targets; do
    mkdir -p "corpus/$target" "artifacts/$target"
    # The fixture machines are the seeds of the target that reads whole machines.
    seeds=seeds/$target
    [ "$target" = machine ] && seeds=../tests/machines
    log=artifacts/$target.log
    [ -d "$seeds" ] || seeds=
    if "target/$triple/release/$target" "corpus/$target" $seeds "-artifact_prefix=artifacts/$target/" \
        "-max_total_time=$seconds" -timeout=20 -rss_limit_mb=2048 -print_final_stats=1 >"$log" 2>&1; then
        printf '%-12s %s inputs, nothing found\n' "$target" "$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")"
    else
        tail -n 40 "$log" >&2
        echo "error: fuzz target \`$target\` failed; the log is fuzz/$log" >&2
        exit 1
    fi
done
