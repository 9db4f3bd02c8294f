#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Kills a program at its calls that change a file, one after the other, and starts it again: the last checkpoints, of the model, its input and those
# kept as best ones, have the bytes of those of a run that was not killed. So they have if signals interrupt every second call, and the others read
# and write only half of what they are asked for.
# at_each_call.sh <each so many calls, unless KILL_EVERY says another number> <directory that it trains in, below the present one> <program> [argument]...
set -euo pipefail
every=${KILL_EVERY:-$1} directory=$2
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cc -O1 -shared -fPIC -o "$work/kill_at.so" "$(dirname "${BASH_SOURCE[0]}")/kill_at.c" -ldl

fail() {
  echo "$*: $(tail -n 3 "$work/output")" >&2
  exit 1
}
run_in() {  # <folder> [variable=value]... <program> [argument]...
  mkdir -p "$work/$1"
  (cd "$work/$1" && shift && exec env "$@") >"$work/output" 2>&1 </dev/null
}
same_as_whole() {  # <folder> <what happened to it>
  for prefix in $wanted; do
    for suffix in index data-00000-of-00001; do
      cmp "$work/whole/$directory/$prefix.$suffix" "$work/$1/$directory/$prefix.$suffix" || fail "$2 it ends otherwise"
    done
  done
}

run_in whole "$@" || fail "the run that is not killed failed"
# The newest of each kind, in the directory and below it.
wanted=$(cd "$work/whole/$directory" && find . -name '*.ckpt-*.index' | sed 's/[.]index$//' | sort -V |
  awk '{ kind = $0; sub(/-[0-9]+$/, "", kind); newest[kind] = $0 } END { for (kind in newest) print newest[kind] }')
[ -n "$wanted" ] || fail "there is no checkpoint in $directory"
run_in disturbed KILL_DIR="$work/disturbed/$directory" DISTURB=1 LD_PRELOAD="$work/kill_at.so" "$@" || fail "disturbed at each call it fails"
same_as_whole disturbed "disturbed at each call"
for ((n = 1;; n += every)); do
  rm -rf "$work/killed"
  status=0
  { run_in killed KILL_DIR="$work/killed/$directory" KILL_AT="any:/:$n" LD_PRELOAD="$work/kill_at.so" "$@" || status=$?; } 2>/dev/null
  [ "$status" != 0 ] || break
  [ "$status" = 137 ] || fail "at call $n it ended $status"
  run_in killed "$@" || fail "killed at call $n it does not go on"
  same_as_whole killed "killed at call $n"
done
[ "$n" -gt 20 ] || fail "it has only $n calls that change files"
echo "kill: $(basename "$1"), killed at $(((n - 1) / every)) of its $((n - 1)) calls that change files, ends with the same bytes"
