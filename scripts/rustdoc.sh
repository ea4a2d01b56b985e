#!/usr/bin/env bash
# rustdoc for `cargo test --doc`, given to it as RUSTDOC: tests the examples of a crate, and leaves in the directory LATER a script that
# writes its documentation, any warning being an error. `cargo doc` would have every dependency checked for this alone; here what the
# tests are built of serves.
set -euo pipefail
rustdoc "$@"
# cargo also asks for rustdoc's version, without a crate.
[[ " $* " == *" --test "* ]] || exit 0
words=()
while [ $# -gt 0 ]; do
    case $1 in
    --test | --no-run | --nocapture) ;;
    --test-args | --test-run-directory | --test-runtool) shift ;;
    *) words+=("$1") ;;
    esac
    shift
done
{
    # What `env!` asks for; nothing else of the environment belongs in a file.
    declare -px "${!CARGO_PKG_@}" CARGO_MANIFEST_DIR
    printf '%q ' cd "$PWD"
    printf '\nexec '
    printf '%q ' rustdoc "${words[@]}" --out-dir "${LATER%/*}/doc" -D warnings
} >"$LATER/$CARGO_PKG_NAME"
