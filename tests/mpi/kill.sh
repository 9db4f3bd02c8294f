#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs train_line with several processes, and own_draws, whose ranks differ in what they draw, kills them again and again, after some time and in
# the middle of saves, and compares what they end with: kill.sh <mpirun> <train_line> <own_draws> [number of tries]
set -euo pipefail
mpirun=$1 train_line=$2 own_draws=$3 tries=${4:-20}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/ranks.sh"
prepare_test
RANDOM=7

# job <program> <ranks> <directory> <its arguments>; job_with <rank> <signal> <seconds> <program> ...: the same, and one rank gets a signal
job() { ends_in 180 "$mpirun" -n "$2" "$1" --dir "$work/$3" "${@:4}" >"$work/output" 2>&1 </dev/null; }
job_with() { ends_in 60 "$mpirun" -n "$5" bash "$here/on_one_rank.sh" "$1" "$2" "$3" "$4" --dir "$work/$6" "${@:7}" >"$work/output" 2>&1 </dev/null; }
said() { sed -n "s/^$1 //p" "$work/output"; }

training=(--steps 6000 --save-steps 50)
for ranks in 1 2 3 4; do
  time_of job "$train_line" "$ranks" "whole$ranks" "${training[@]}" || fail "$ranks ranks did not come to their end"
  [ "$ranks" != 2 ] || weights=$(said weights) two_took=$took
  line=$(said y)
  [ "$line" = "${first_line:=$line}" ] || fail "$ranks ranks end with '$line', one with '$first_line'"
done

# One rank of two is killed, the job ends, and starts again: the same bits as the run that never stopped.
# survive_kills <program> <weights of that run> <its milliseconds> <number of tries> <arguments of the program>
all_killed=0
survive_kills() {
  local program=$1 weights=$2 whole_took=$3 tries=$4 try killed=0
  shift 4
  rm -rf "$work/killed"
  for ((try = 0; try < tries || (killed == 0 && try < 3 * tries); ++try)); do
    if time_of job_with $((RANDOM % 2)) KILL "$(part_of "$whole_took" $RANDOM)" "$program" 2 killed "$@"; then  # it was at its end before
      [ "$(said weights)" = "$weights" ] || fail "after $killed kills the weights are $(said weights) and not $weights"
      [ "$took" -gt "$whole_took" ] || whole_took=$took  # the first one ran beside something else
      rm -rf "$work/killed"
    else
      killed=$((killed + 1))
    fi
  done
  [ "$killed" -gt 0 ] || fail "none of $try runs was killed: all came to their end before"
  job "$program" 2 killed "$@" || fail "the last run failed"
  [ "$(said weights)" = "$weights" ] || fail "after all kills the weights are $(said weights) and not $weights"
  all_killed=$((all_killed + killed))
}
survive_kills "$train_line" "$weights" "$two_took" "$tries" "${training[@]}"
survive_kills "$train_line" "$weights" "$two_took" "$tries" "${training[@]}" --together
[ -e "$work/killed/model.ckpt-6000.data-00001-of-00002" ] || fail "the ranks have not written the last checkpoint together"
drawing=(--steps 60000 --save-steps 50)  # whose steps are shorter
time_of job "$own_draws" 2 own "${drawing[@]}" || fail "the job whose ranks differ did not come to its end"
survive_kills "$own_draws" "$(said weights)" "$took" $((tries / 2)) "${drawing[@]}"

# One rank of two is killed at a call that changes a file: while the ranks write their parts of a checkpoint, between the last part and the index,
# between the index and the file that lists it, and at each rename. In the first save of a run, in its second one, and so on.
# survive_kills_in_saves <program> <weights of a run that never stopped> <arguments of the program>... -- <call:part of the path:number@rank>...
cc -O1 -shared -fPIC -o "$work/kill_at.so" "$here/../kill/kill_at.c" -ldl
survive_kills_in_saves() {
  local program=$1 weights=$2 arguments=() at
  shift 2
  while [ "$1" != -- ]; do arguments+=("$1"); shift; done
  shift
  rm -rf "$work/killed"
  for at in "$@"; do
    for _ in 1 2; do  # a run that comes to its end first is compared, and the next one starts from the beginning
      if ! job_with "${at#*@}" AT "${at%@*}" "$program" 2 killed "${arguments[@]}"; then
        all_killed=$((all_killed + 1))
        break
      fi
      [ "$(said weights)" = "$weights" ] || fail "before it is killed at $at the weights are $(said weights) and not $weights"
      rm -rf "$work/killed"
    done
  done
  job "$program" 2 killed "${arguments[@]}" || fail "after kills in saves the last run failed"
  [ "$(said weights)" = "$weights" ] || fail "after kills in saves the weights are $(said weights) and not $weights"
}
export KILL_DIR=$work/killed KILL_AT_LIBRARY=$work/kill_at.so KILL_LOG=$work/kills
short=(--steps 120 --save-steps 20)
commit=({write,fsync}:.index:1@0 rename:.index:1@0 {write,rename}:checkpoint:1@0 {write,fsync}:.index:2@0 rename:.index:2@0 {write,rename}:checkpoint:2@0)
job "$train_line" 2 short "${short[@]}" || fail "the short run failed"
short_weights=$(said weights)
survive_kills_in_saves "$train_line" "$short_weights" "${short[@]}" -- write:.data:1@0 rename:.data:1@0 write:.data:2@0 rename:.data:2@0 "${commit[@]}"
survive_kills_in_saves "$train_line" "$short_weights" "${short[@]}" --together -- {write,fsync}:.data-00001:1@1 {write,fsync}:.data-00000:1@0 \
  rename:.data-0000{0,1}:1@0 {write,fsync}:.data-00001:2@1 {write,fsync}:.data-00000:2@0 rename:.data-0000{0,1}:2@0 "${commit[@]}"
job "$own_draws" 2 short_own "${short[@]}" || fail "the short run of the job whose ranks differ failed"
survive_kills_in_saves "$own_draws" "$(said weights)" "${short[@]}" -- {write,rename}:.index:1@0 rename:checkpoint:1@0 {write,rename}:.index:2@0
[ "$all_killed" -ge 40 ] || fail "only $all_killed runs were killed"

# With other numbers of ranks the sums are rounded differently.
for ranks in 3 1 4; do
  job_with 0 KILL "$(part_of "$two_took" $RANDOM)" "$train_line" "$ranks" changed "${training[@]}" || true
done
job "$train_line" 2 changed "${training[@]}" || fail "a run with another number of ranks failed"
[ "$(said y)" = "$first_line" ] || fail "with changing numbers of ranks it ends with '$(said y)' and not '$first_line'"

# A signal to one rank stops all, with a checkpoint.
job_with 2 TERM 1 "$train_line" 3 stopped --steps 100000000 --save-steps 50000000 || fail "a job that was asked to stop failed"
grep -q 'ranks, steps 0 to .*: rank 2: SIGTERM' "$work/output" || fail "it does not say that rank 2 got the signal"
step=$(sed -n 's/.* steps 0 to \([0-9]*\):.*/\1/p' "$work/output")
[ -e "$work/stopped/model.ckpt-$step.index" ] || fail "there is no checkpoint of step $step"

expect_ends "$mpirun"
echo "kill: $all_killed kills, $(wc -l <"$work/kills") of them inside saves, $(wc -l <"$work/hung") unseen by the launcher, also of jobs whose ranks write together or differ, a signal and changing numbers of ranks: the same weights"
