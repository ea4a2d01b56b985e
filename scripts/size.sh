#!/usr/bin/env bash
# How large the sources are at a commit: for each area the lines of Rust that are neither blank nor comments, those of tests
# apart, the files, and the functions and public items outside tests. Then the product (crates, src, page) with the characters of
# those lines, all that tests it, the names that more than four of its types have, other languages, and how long its functions are,
# from `fn` to the closing brace.
#   scripts/size.sh [COMMIT]    (HEAD)
# What stands after `#[cfg(test)]` and `mod tests {` is test, and so are `tests.rs`, `*_tests.rs`, `testing.rs` and `tests/`.
set -euo pipefail
cd "$(dirname "$0")/.."
commit=${1:-HEAD}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
git archive "$commit" | tar -x -C "$work"
cd "$work"
find . -name '*.rs' -printf '%P\n' | LC_ALL=C sort | xargs awk '
function area(name,    part) {
    split(name, part, "/")
    if (part[1] == "crates") { sub(/^narrows-/, "", part[2]); return part[2] }
    return part[1] == "src" ? "the program" : part[1] == "page" ? "page" : part[1] "/"
}
function told(lines) {
    functions[at]++
    # Those of the product.
    if (at !~ /\/$/) print lines, FILENAME, label > "/dev/fd/3"
}
FNR == 1 {
    at = area(FILENAME)
    files[at]++
    in_test = FILENAME ~ /(^|\/)tests\/|tests\.rs$|testing\.rs$/
    pending = 0; depth = 0; start = 0
}
/^[ \t]*#\[cfg\(test\)\]$/ { pending = 1 }
pending && /^mod tests \{/ { in_test = 1 }
!/^[ \t]*#\[cfg\(test\)\]$/ { pending = 0 }
/^[ \t]*$/ || /^[ \t]*\/\// { next }
{
    if (in_test) { test[at]++; next }
    code[at]++
    characters[at] += length($0) + 1
    if (at !~ /\/$/ && match($0, /^ *(pub(\([^)]*\))? )?(struct|enum|trait|union|type) [A-Z][A-Za-z0-9]*/) && substr($0, 1, 4) != "    ") {
        type = substr($0, RSTART, RLENGTH)
        sub(/^.* /, "", type)
        print type > "/dev/fd/4"
    }
    if ($0 ~ /^ *pub (const |async |unsafe )*(fn|struct|enum|trait|const|static|type|mod|use) /) public[at]++
    if (match($0, /^ *(pub(\([^)]*\))? )?(const |async |unsafe |extern "C" )*fn [a-z_0-9]+/) && !start && !/;$/) {
        start = FNR
        indent = match($0, /[^ ]/)
        label = $0
        sub(/^.*fn /, "", label); sub(/[^a-z_0-9].*/, "", label)
        # A function on one line.
        if ($0 ~ /\}$/) { told(1); start = 0 }
    } else if (start && match($0, /[^ ]/) == indent && $0 ~ /^ *\}$/) {
        told(FNR - start + 1)
        start = 0
    }
}
END {
    for (at in files)
        printf "%s\t%d\t%d\t%d\t%d\t%d\t%d\n", at, code[at], test[at], files[at], functions[at], public[at], characters[at]
}' 3>functions.txt 4>types.txt | LC_ALL=C sort >areas.txt
awk -F '\t' 'BEGIN {
    printf "%-14s %8s %8s %6s %10s %7s\n", "area", "code", "test", "files", "functions", "public"
}
{ printf "%-14s %8d %8d %6d %10d %7d\n", $1, $2, $3, $4, $5, $6; c += $2; t += $3; f += $4; n += $5; p += $6 }
$1 !~ /\/$/ { product += $2; files += $4; characters += $7 }
END {
    printf "%-14s %8d %8d %6d %10d %7d\n", "all", c, t, f, n, p
    printf "product: %d lines in %d files, %d characters\n", product, files, characters
    printf "tests, with rig, attacks, cases, accuracy, fuzz and benches: %d lines\n", t + c - product
}' areas.txt
LC_ALL=C sort types.txt | uniq -c | awk '$1 > 4' | sort -k1,1nr -k2 |
    awk '{ names = names sprintf(" %s %d", $2, $1) } END { printf "names of more than four types: %d%s%s\n", NR, NR ? ":" : "", names }'
for language in js html sh toml; do
    find . -name "*.$language" -print0 | xargs -0r cat | awk -v name="$language" '/[^ \t]/ { n++ } END { printf ".%s: %d lines, ", name, n }'
done | sed 's/, $/, blank ones left out\n/'
sort -n functions.txt >sorted.txt
awk '{ length_of[NR] = $1; over += $1 > 60 } END {
    part = "lines of a function: median %d, 90 %% at most %d, 99 %% at most %d, %d above 60\n"
    printf part, length_of[int(NR * 0.5)], length_of[int(NR * 0.9)], length_of[int(NR * 0.99)], over }' sorted.txt
tail -n 8 sorted.txt | tac | awk '{ printf "%4d %s in %s\n", $1, $3, $2 }'
