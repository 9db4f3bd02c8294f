#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the example `distributed`: killed and started again it ends with the same bits, and whatever the number of processes, with the same
# batches and the same parameters to 1e-5: distributed.sh <mpirun> <program> <the example `checkpoint`> [number of tries]
set -euo pipefail
mpirun=$1 program=$2 checkpoint=$3 tries=${4:-4}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/ranks.sh"
prepare_test
RANDOM=11

# train <ranks> <directory> <last step> [prefix of the command]...
train() { ends_in 180 "$mpirun" -n "$1" "${@:4}" "$program" --dir "$work/$2" --steps "$3" --save-steps 5 >"$work/output" 2>&1 </dev/null; }
# equals <directory>: its last checkpoint is that of the run of one process, but for rounding
equals() {
  "$checkpoint" diff "$work/whole1/model.ckpt-30" "$work/$1/model.ckpt-30" >"$work/output" 2>&1 || [ $? = 1 ] || fail "cannot compare $1"
  grep -qE '^batches-state +equal' "$work/output" || fail "$1 has seen other batches"
  awk '$2 == "different" && !($3 <= 1e-5) { bad = 1 } END { exit bad }' "$work/output" || fail "the parameters of $1 differ"
}

for ranks in 1 2 4; do
  time_of train "$ranks" "whole$ranks" 30 || fail "$ranks ranks did not come to their end"
  [ "$ranks" != 2 ] || two_took=$took
  grep -q "^$ranks processes: test accuracy 0.* at step 30$" "$work/output" || fail "$ranks ranks do not say what they end with"
  equals "whole$ranks"
done

killed=0
compare() {
  for file in index data-00000-of-00002 data-00001-of-00002; do
    cmp "$work/whole2/model.ckpt-30.$file" "$work/killed/model.ckpt-30.$file" || fail "after $killed kills the checkpoint is another one"
  done
}
for ((try = 0; try < tries; ++try)); do
  if train 2 killed 30 bash "$here/on_one_rank.sh" $((RANDOM % 2)) KILL "$(part_of "$two_took" $RANDOM)"; then  # it was at its end before
    compare
    rm -rf "$work/killed"
  else
    killed=$((killed + 1))
  fi
done
[ "$killed" -gt 0 ] || fail "none of $tries runs was killed: all came to their end before"
train 2 killed 30 || fail "the last run failed"
compare

train 1 changed 10 && train 4 changed 20 && train 2 changed 30 || fail "a run with another number of ranks failed"
equals changed
expect_ends "$mpirun"
echo "distributed: $killed kills: the same bits; other numbers of processes: the same batches, parameters within 1e-5"
