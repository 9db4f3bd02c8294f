#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Kills a program of the README at its calls that change a file, one after the other, and starts it again: its last checkpoint has the bytes of that
# of a run that was not killed. killed.sh <program> <directory that it trains in> <each so many calls> <root>
set -euo pipefail
program=$1 directory=$2 every=$3 root=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cc -O1 -shared -fPIC -o "$work/kill_at.so" "$root/tests/kill/kill_at.c" -ldl

run_in() {  # <folder> [variable=value]...
  local folder=$1
  shift
  mkdir -p "$work/$folder"
  (cd "$work/$folder" && exec env "$@" "$program") >"$work/output" 2>&1 </dev/null
}
newest() { printf '%s\n' "$1"/model.ckpt-*.index | sort -V | tail -n 1; }

run_in whole
wanted=$(newest "$work/whole/$directory")
for ((n = 1;; n += every)); do
  rm -rf "$work/killed"
  status=0
  { run_in killed KILL_DIR="$work/killed/$directory" KILL_AT="any:/:$n" LD_PRELOAD="$work/kill_at.so" || status=$?; } 2>/dev/null
  [ "$status" != 0 ] || break
  [ "$status" = 137 ] || { echo "at call $n it ended $status: $(tail -n 3 "$work/output")" >&2; exit 1; }
  run_in killed || { echo "killed at call $n it does not go on: $(tail -n 3 "$work/output")" >&2; exit 1; }
  mine=$work/killed/$directory/$(basename "$wanted")
  for suffix in index data-00000-of-00001; do
    cmp "${wanted%index}$suffix" "${mine%index}$suffix" || { echo "killed at call $n it ends otherwise" >&2; exit 1; }
  done
done
[ "$n" -gt 20 ] || { echo "it has only $n calls that change files" >&2; exit 1; }
echo "killed at calls 1 to $((n - every)), it ends with the same bytes"
