#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# An example trains a few steps, goes on from its checkpoint, and ends as one that trained them at once: trains.sh <name> <program>
set -euo pipefail
program=$(realpath "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

run() {  # <directory> <steps>
  case $1 in
    custom_loop*) "$program" --dir "$1" --steps "$2" ;;
    quickstart*) "$program" --model-dir "$1" --data synthetic --save-steps 10 --steps "$2" ;;
  esac >>"said_of_$1" 2>log || { echo "$1 ended with status $?:" >&2; cat log >&2; exit 1; }
}

run "$1" 20
run "$1" 40
run "$1-at-once" 40
for data in "$1"/model.ckpt-40.data-*; do
  cmp "$data" "$1-at-once/$(basename "$data")"
done
diff -u <(tail -n 1 "said_of_$1") <(tail -n 1 "said_of_$1-at-once")
