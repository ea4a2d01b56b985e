#!/usr/bin/env bash
# Builds what is released twice, in two clones at different places, and compares the bytes.
set -euo pipefail
cd "$(dirname "$0")/.."
place=$(mktemp -d "${TMPDIR:-/tmp}/narrows-twice.XXXXXX")
trap 'rm -rf "$place"' EXIT
for name in one a-longer-name-of-a-directory; do
    git clone --quiet --no-hardlinks . "$place/$name"
    (cd "$place/$name" && env -u CARGO_TARGET_DIR -u DIST scripts/dist.sh)
    (cd "$place/$name/target/packages" && sha256sum -- *) >"$place/$name.sums"
done
diff "$place/one.sums" "$place/a-longer-name-of-a-directory.sums"
cat "$place/one.sums"
echo "the same, twice"
