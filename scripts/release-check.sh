#!/usr/bin/env bash
# Everything that is looked at before a release, in one command: `make release-check`. What cannot be done here is named.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PATH:$HOME/.cargo/bin"
failed=0
step() { # WHAT COMMAND...
    local what=$1
    shift
    printf '\n==> %s\n' "$what"
    "$@" || { printf '%s: failed\n' "$what"; failed=1; }
}
version=$(sed -n '/^version = /{s/^version = "\(.*\)"/\1/p;q}' Cargo.toml)
clean() { [ -z "$(git status --porcelain)" ] || { git status --short; return 1; }; }
changelog() { grep -q "^## \[\?$version" CHANGELOG.md || { echo "CHANGELOG.md has no section for $version"; return 1; }; }
untagged() { ! git rev-parse -q --verify "refs/tags/v$version" >/dev/null || { echo "v$version is tagged already"; return 1; }; }
rules() {
    command -v promtool >/dev/null || { echo "skipped: promtool (package prometheus) is not installed"; return 0; }
    promtool check rules contrib/prometheus/narrows.rules.yml && promtool test rules contrib/prometheus/narrows.rules.test.yml
}
units() {
    command -v systemd-analyze >/dev/null || { echo "skipped: systemd-analyze (package systemd) is not installed"; return 0; }
    # 25 stands for 2.5.
    systemd-analyze security --offline=yes --threshold=25 contrib/systemd/narrows-watch.service | tail -n 1 &&
        systemd-analyze security --offline=yes --threshold=25 contrib/systemd/narrows-export.service | tail -n 1
}
step "the work tree is clean" clean
step "the changelog names $version" changelog
step "$version is not tagged" untagged
step "licences, bans, sources, advisories" scripts/deny.sh --install
step "every crate can be packaged" cargo package --workspace --locked --no-verify --quiet
step "alert rules" rules
step "units" units
step "two builds are the same" scripts/dist-twice.sh
step "what is released" scripts/dist.sh
step "install, upgrade, purge" scripts/dist-check.sh
step "the minimum Rust version, on a fresh machine" "${MAKE:-make}" --no-print-directory fresh
step ".ci/run" .ci/run
exit "$failed"
