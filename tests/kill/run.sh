#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Kills the quickstart with SIGKILL again and again: at moments that a clock picks, in the middle of writes, between the steps of a save, and
# between those of removing or replacing an old checkpoint. What it ends with must be, byte for byte, what a run that was never killed ends with; the
# checkpoint also holds a checksum over every batch that was trained on.
# Then the programs of gallery, README and guide that train are killed, too, each at calls that change a file.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=$root/build/gcc
quickstart=$build/examples/quickstart
custom_loop=$build/examples/custom_loop
"$root/.ci/packages" tests examples
"$root/.ci/configure_tests"
cmake --build "$build" --target quickstart custom_loop gallery readme_programs
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
log=$work/kills
export KILL_LOG=$log
: >"$log"
cc -O1 -shared -fPIC -o "$work/kill_at.so" "$root/tests/kill/kill_at.c" -ldl

fail() {
  echo "kill: $*" >&2
  exit 1
}

# runs_to_be_killed <what for> <command>...: 0 where it was killed, 1 where it came to its end before that.
runs_to_be_killed() {
  local what=$1 status=0
  shift
  { "$@" >"$work/output" 2>&1 </dev/null || status=$?; } 2>/dev/null
  [ "$status" = 0 ] || [ "$status" = 137 ] || fail "a run ended $status instead of being killed $what: $(tail -n 3 "$work/output")"
  [ "$status" = 137 ]
}

# killed_at <call:path:n> <directory> <program and arguments>
killed_at() {
  local at=$1 directory=$2
  shift 2
  runs_to_be_killed "at $at" env KILL_DIR="$directory" KILL_AT="$at" LD_PRELOAD="$work/kill_at.so" "$@"
}

# killed_after <seconds> <program and arguments>
killed_after() {
  runs_to_be_killed "after $1 s" timeout --signal=KILL "$@" && echo "killed after $1 s" >>"$log"
}

same_files() {  # <directory> <directory> <glob>...
  local a=$1 b=$2 pattern file compared=0
  shift 2
  for pattern in "$@"; do
    for file in "$a"/$pattern; do
      [ -e "$file" ] || fail "there is no $pattern in $a"
      cmp "$file" "$b/$(basename "$file")" || fail "$(basename "$file") differs from that of the run that was never killed"
      compared=$((compared + 1))
    done
  done
  echo "kill: $compared files are the same, byte for byte"
}

last=1200
train=("$quickstart" --steps $last --save-steps 40 --seed 11 --data synthetic)
"${train[@]}" --model-dir "$work/whole" >"$work/output" 2>&1 </dev/null || fail "the run that is not killed failed: $(tail -n 3 "$work/output")"

# Saving: model and input pipeline, data, index, state file. Removing: what was pushed out by newer ones.
saving=(write:model.ckpt:1 fsync:.data:2 rename:model.ckpt:1 rename:model.ckpt:2 rename:model.ckpt:3 fsync:model.ckpt:3 rename:checkpoint:2 write:input.ckpt:2
  rename:input.ckpt:2 rename:checkpoint_input:1 write:.index:2 fsync:.index:2 write:checkpoint:3 write:events:3)
# A removal renames the index to a temporary name, removes data and .meta, then that file.
removing=(rename:.index.tempstate:1 unlink:model.ckpt:1 unlink:model.ckpt:2 unlink:model.ckpt:3 unlink:.index.tempstate:1 unlink:.data:1 unlink:.meta:1
  rename:.index.tempstate:2 unlink:.index.tempstate:2 unlink:.data:2)
# Replacing what a run committed that was killed before the state file said so: the old index is renamed away, then the new files come.
replacing=(rename:.replaced:1 rename:.replaced:2 rename:model.ckpt:2 rename:model.ckpt:3 rename:model.ckpt:4 unlink:.replaced:1 unlink:.replaced:2)
# A run that ended is compared, and the next one starts from the beginning: how many kills there are does not depend on the machine's speed.
compare_quickstart() {
  same_files "$work/whole" "$work/killed" "model.ckpt-$last.index" "model.ckpt-$last.data-*" "input.ckpt-$last.index" "input.ckpt-$last.data-*"
  rm -r "$work/killed"
}
RANDOM=${KILL_SEED:-7}
round=0
for mode in --sync ""; do
  for at in "${saving[@]}" "${removing[@]}"; do
    for attempt in 1 2; do
      if killed_at "$at" "$work/killed" "${train[@]}" --model-dir "$work/killed" $mode; then break; fi
      compare_quickstart
    done
    if [ $((round++ % 2)) = 0 ]; then
      killed_after "0.$((RANDOM % 80 + 15))" "${train[@]}" --model-dir "$work/killed" $mode || compare_quickstart
    fi
  done
  for at in "${replacing[@]}"; do
    for kill_at in rename:checkpoint:1 "$at"; do
      killed_at "$kill_at" "$work/killed" "${train[@]}" --model-dir "$work/killed" $mode || compare_quickstart
    done
  done
done
"${train[@]}" --model-dir "$work/killed" >"$work/output" 2>&1 </dev/null || fail "the last run failed: $(tail -n 3 "$work/output")"
compare_quickstart

# Started once more when it is finished, the quickstart trains nothing, touches nothing and says so; what it cannot do is one line and status 1.
(cd "$work/whole" && sha256sum -- *) >"$work/files"
"${train[@]}" --model-dir "$work/whole" >"$work/output" 2>&1 </dev/null || fail "the finished run failed when started again"
(cd "$work/whole" && sha256sum -- *) | diff "$work/files" - || fail "a finished run changed files when started again"
grep -q "test accuracy .* at step $last" "$work/output" || fail "a finished run does not tell its accuracy: $(tail -n 3 "$work/output")"
for wrong in "--steps no" "--no-such-option" "--data synthetic --model-dir /proc/nowhere"; do
  status=0
  # shellcheck disable=SC2086  # an option and its value
  "$quickstart" $wrong >/dev/null 2>"$work/said" </dev/null || status=$?
  [ "$status" = 1 ] && [ "$(wc -l <"$work/said")" = 1 ] || fail "$wrong ended $status and said: $(cat "$work/said")"
done

# Ctrl-C ends it after its present step, saves that one and tells how to go on.
for seconds in 1 4 16; do  # until it has trained for a moment, also on a slow machine; --foreground, or timeout sends the signal twice
  rm -rf "$work/interrupted"
  status=0
  timeout --foreground --preserve-status --signal=INT $seconds "$quickstart" --steps 100000000 --save-steps 100000000 --seed 11 \
    --data synthetic --model-dir "$work/interrupted" >"$work/output" 2>&1 </dev/null || status=$?
  [ "$status" != 130 ] || continue  # it had not begun
  [ "$status" = 0 ] || fail "Ctrl-C ended it otherwise ($status): $(tail -n 3 "$work/output")"
  step=$(sed -n 's/^I SIGINT: training stops after step \([0-9]*\)[.]$/\1/p' "$work/output")
  [ "${step:-0}" = 0 ] || break
done
[ "${step:-0}" != 0 ] || fail "Ctrl-C did not end a training that goes on: $(tail -n 3 "$work/output")"
[ -e "$work/interrupted/model.ckpt-$step.index" ] || fail "Ctrl-C after step $step leaves $(ls "$work/interrupted")"
grep -q "the last checkpoint is .*/model.ckpt-$step. Start the program again to resume from there" "$work/output" ||
  fail "Ctrl-C does not tell how to go on: $(tail -n 3 "$work/output")"
"$quickstart" --steps $((step + 10)) --seed 11 --data synthetic --model-dir "$work/interrupted" >"$work/output" 2>&1 </dev/null &&
  grep -q "Restored .*/model.ckpt-$step" "$work/output" || fail "it does not go on from step $step: $(tail -n 3 "$work/output")"
echo "kill: Ctrl-C after step $step saves it, and the next run goes on from there"

[ -x "$custom_loop" ] || fail "there is no $custom_loop"
loop=("$custom_loop" --steps 2000)
"${loop[@]}" --dir "$work/loop-whole" >"$work/loop-whole.txt" </dev/null
compare_loop() {
  "${loop[@]}" --dir "$work/loop-killed" >"$work/loop-killed.txt" </dev/null
  same_files "$work/loop-whole" "$work/loop-killed" "model.ckpt-2000.index" "model.ckpt-2000.data-*"
  [ "$(tail -n 1 "$work/loop-whole.txt")" = "$(tail -n 1 "$work/loop-killed.txt")" ] || fail "the custom loop ends with other weights"
  rm -r "$work/loop-killed"
}
for at in write:model.ckpt:3 rename:model.ckpt:4 unlink:.index:2 fsync:.data:5 rename:checkpoint:3 unlink:.data:1; do
  killed_at "$at" "$work/loop-killed" "${loop[@]}" --dir "$work/loop-killed" || compare_loop
done
compare_loop

# Every call that changes a file, one after the other, in a shorter run; the quickstart is killed at some of them.
at_each_call=$root/tests/kill/at_each_call.sh
"$at_each_call" 1 run "$custom_loop" --steps 250 --dir run
"$at_each_call" 17 run "$quickstart" --steps 90 --save-steps 30 --seed 11 --data synthetic --model-dir run

all=$(wc -l <"$log")
removal='in unlink of .*(\.data-|\.meta$|\.index\.tempstate)|in rename of .*\.index\.tempstate'
in_removal=$(grep -cE "$removal" "$log" || true)
in_replacement=$(grep -cE 'in (rename|unlink) of .*\.replaced\.' "$log" || true)
in_save=$(grep -vE "$removal" "$log" | grep -cE 'in (write|fsync|rename) of .*(ckpt|checkpoint)' || true)
sort "$log" | sed "s|$work/||" | uniq -c
echo "kill: survived $all kills, $in_save of them inside a save, $in_removal inside the removal of an old checkpoint, $in_replacement around a replacement"
[ "$all" -ge 40 ] && [ "$in_save" -ge 5 ] && [ "$in_removal" -ge 5 ] && [ "$in_replacement" -ge 2 ] ||
  fail "these are fewer kills than this script promises (40, 5, 5, 2)"

"$root/.ci/ctest" "$build" -L kill
