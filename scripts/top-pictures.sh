#!/usr/bin/env bash
# Pictures of `narrows top` as it stands in real terminals: docs/gallery/top.svg (140 x 40) and top-80.svg (80 x 24).
# $1: a command that loads what is shown, meanwhile; $2: arguments of `narrows top`.
set -euo pipefail
cd "$(dirname "$0")/.."
load=$1 arguments=$2
command -v tmux >/dev/null || { echo "tmux is not installed: apt-get install tmux" >&2; exit 2; }
socket="narrows-pictures-$$"
screen() { tmux -L "$socket" -u "$@"; }
end() {
  screen kill-server 2>/dev/null || true
  [ -z "${loading:-}" ] || kill "$loading" 2>/dev/null || true
}
trap end EXIT
export LC_ALL=C.UTF-8 TERM=xterm-256color
loading=
if [ -n "$load" ]; then
  sh -c "exec $load" >/dev/null 2>&1 &
  loading=$!
fi
for size in "140 40 top" "80 24 top-80"; do
  read -r columns rows name <<<"$size"
  screen -f /dev/null new-session -d -x "$columns" -y "$rows" "exec $NARROWS top $arguments"
  # Two looks are needed for a rate; more, for load that begins.
  sleep 4
  captured=$(screen capture-pane -e -p)
  screen kill-server
  case $captured in
    *"? help"*) ;;
    *) echo "narrows top did not come up in $columns x $rows:" >&2; echo "$captured" >&2; exit 1 ;;
  esac
  printf '%s\n' "$captured" |
    "$CARGO" run --locked --quiet -p narrows-runs --example screen_picture -- "$columns" >"docs/gallery/$name.svg"
  echo "docs/gallery/$name.svg"
done
