#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the example `heat`, whose processes have parts of one tensor: whatever their number, and however often it changes between kills, it ends with
# the same bits: heat.sh <mpirun> <program> <the example `checkpoint`> [number of tries]
set -euo pipefail
mpirun=$1 program=$2 checkpoint=$3 tries=${4:-6}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/ranks.sh"
prepare_test
RANDOM=13
steps=600

# simulate <ranks> <directory> [prefix of the command]...
simulate() { ends_in 180 "$mpirun" -n "$1" "${@:3}" "$program" --dir "$work/$2" --steps $steps --save-steps 50 >"$work/output" 2>&1 </dev/null; }
equals() {
  "$checkpoint" diff "$work/whole1/model.ckpt-$steps" "$work/$1/model.ckpt-$steps" >"$work/output" 2>&1 || [ $? = 1 ] || fail "cannot compare $1"
  grep -qE '^temperature +equal' "$work/output" || fail "$1 ends with other bits"
}

for ranks in 1 2 3 4; do
  time_of simulate "$ranks" "whole$ranks" || fail "$ranks ranks did not come to their end"
  grep -q "^$ranks processes: step $steps$" "$work/output" || fail "$ranks ranks do not say what they end with"
  equals "whole$ranks"
  [ "$ranks" = 1 ] || [ -e "$work/whole$ranks/model.ckpt-$steps.data-0000$((ranks - 1))-of-0000$ranks" ] || fail "a rank of $ranks has no file"
done

killed=0
for ((try = 0; try < tries; ++try)); do
  ranks=$((try % 4 + 1))
  if simulate "$ranks" killed bash "$here/on_one_rank.sh" $((RANDOM % ranks)) KILL "$(part_of "$took" $RANDOM)"; then
    equals killed
    rm -rf "$work/killed"
  else
    killed=$((killed + 1))
  fi
done
[ "$killed" -gt 0 ] || fail "none of $tries runs was killed: all came to their end before"
simulate 3 killed || fail "the last run failed"
equals killed
expect_ends "$mpirun"
echo "heat: $killed kills, with 1 to 4 processes: the same bits"
