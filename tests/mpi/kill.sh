#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs train_line with several processes, and own_draws, whose ranks differ in what they draw, kills them again and again, and compares what
# they end with: kill.sh <mpirun> <train_line> <own_draws> [number of kills]
set -euo pipefail
mpirun=$1 program=$2 own_draws=$3 kills=${4:-20}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/ranks.sh"
prepare_test
RANDOM=7

# job <ranks> <directory> <arguments of train_line>; job_with <rank> <signal> <seconds> <ranks> ...: the same, and one of them gets a signal
job() { "$mpirun" -n "$1" "$program" --dir "$work/$2" "${@:3}" >"$work/output" 2>&1 </dev/null; }
job_with() { "$mpirun" -n "$4" bash "$here/on_one_rank.sh" "$1" "$2" "$3" "$program" --dir "$work/$5" "${@:6}" >"$work/output" 2>&1 </dev/null; }
said() { sed -n "s/^$1 //p" "$work/output"; }

training=(--steps 6000 --save-steps 50)
for ranks in 1 2 3 4; do
  job "$ranks" "whole$ranks" "${training[@]}" || fail "$ranks ranks did not come to their end"
  eval "weights$ranks='$(said weights)'"
  line=$(said y)
  [ "$line" = "${first_line:=$line}" ] || fail "$ranks ranks end with '$line', one with '$first_line'"
done

# One rank of two is killed, the job ends, and starts again: the same bits as the run that never stopped.
# survive_kills <weights of that run> <number of kills>
survive_kills() {
  local weights=$1 kills=$2 killed=0
  while [ "$killed" -lt "$kills" ]; do
    if job_with $((RANDOM % 2)) KILL "0.$((RANDOM % 6 + 2))" 2 killed "${training[@]}"; then
      [ "$(said weights)" = "$weights" ] || fail "after $killed kills the weights are $(said weights) and not $weights"
      rm -rf "$work/killed"
    fi
    killed=$((killed + 1))  # also without a kill, or a run that is too short would go on for ever
  done
  job 2 killed "${training[@]}" || fail "the last run failed"
  [ "$(said weights)" = "$weights" ] || fail "after all kills the weights are $(said weights) and not $weights"
}
survive_kills "$weights2" "$kills"

# The same for a job whose ranks write each checkpoint together, in the background.
training+=(--together)
rm -rf "$work/killed"
survive_kills "$weights2" "$kills"
[ -e "$work/killed/model.ckpt-6000.data-00001-of-00002" ] || fail "the ranks have not written the last checkpoint together"
training=("${training[@]:0:4}")

# The same for a job whose ranks have generators, hooks and positions of their own.
train_line=$program program=$own_draws
job 2 own "${training[@]}" || fail "the job whose ranks differ did not come to its end"
rm -rf "$work/killed"
survive_kills "$(said weights)" $((kills / 2))
program=$train_line

# With other numbers of ranks the sums are rounded differently.
for ranks in 3 1 4; do
  job_with 0 KILL "0.$((RANDOM % 4 + 3))" "$ranks" changed "${training[@]}" || true
done
job 2 changed "${training[@]}" || fail "a run with another number of ranks failed"
[ "$(said y)" = "$first_line" ] || fail "with changing numbers of ranks it ends with '$(said y)' and not '$first_line'"

# A signal to one rank stops all, with a checkpoint.
job_with 2 TERM 1 3 stopped --steps 100000000 --save-steps 50000000 || fail "a job that was asked to stop failed"
grep -q 'ranks, steps 0 to .*: rank 2: SIGTERM' "$work/output" || fail "it does not say that rank 2 got the signal"
step=$(sed -n 's/.* steps 0 to \([0-9]*\):.*/\1/p' "$work/output")
[ -e "$work/stopped/model.ckpt-$step.index" ] || fail "there is no checkpoint of step $step"

echo "kill: $kills kills, as many of a job whose ranks write together, half as many of a job whose ranks differ, a signal and changing numbers of ranks: the same weights"
