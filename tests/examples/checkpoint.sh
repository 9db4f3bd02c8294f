#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What each command of the example `checkpoint` prints and how it ends, on small runs: checkpoint.sh <checkpoint> <train_small_run>
set -euo pipefail
checkpoint=$(realpath "$1")
train=$(realpath "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
failures=0

# says <exit code> <arguments>...: compares what the command prints, both streams, with standard input. Ages become "AGE".
says() {
  local expected=$1 status=0
  shift
  "$checkpoint" "$@" >output 2>&1 || status=$?
  sed -E -e 's/ +[0-9]+(\.[0-9])? s  / AGE  /' -e 's/"age_seconds": [0-9.]+/"age_seconds": AGE/' output >said
  cat >expected
  if [ "$status" != "$expected" ]; then
    echo "checkpoint $*: ended $status, not $expected"
    failures=$((failures + 1))
  fi
  diff -u expected said || { echo "checkpoint $*: said something else"; failures=$((failures + 1)); }
}

"$train" run 35 0.5 2>/dev/null
"$train" other 35 0.25 2>/dev/null
"$train" broken 10 nan 2>/dev/null

# --- list
says 0 list run <<'END'
run: 5 checkpoints
checkpoint     step AGE    size  tensors  input          state
END
exit $failures
