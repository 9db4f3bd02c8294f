# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What scripts that run several processes share; they source it. OpenMPI may be run by root, and by more processes than there are processors,
# so ranks that wait yield. MPICH ignores these. CMakeLists.txt says the same to ctest.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1

# For tests: makes a folder $work that goes with the script, where `fail` looks for the output of the last job.
prepare_test() {
  export OMPI_MCA_btl_vader_single_copy_mechanism=none  # a container may forbid one process to read the memory of another
  export OMPI_MCA_odls_base_sigkill_timeout=0  # when a rank is killed, the others are, too, and not two seconds later
  work=$(mktemp -d)
  touch "$work/hung"
  trap 'rm -rf "$work"' EXIT
}

# ends_in <seconds> <command>...: for tests: runs it, which starts a job. If it is not over by then, it has hung, and all its processes are killed.
ends_in() {
  local status=0 job timer
  "${@:2}" &
  job=$!
  { sleep "$1" && echo "$*" >>"$work/hung" && kill_tree "$job"; } >/dev/null 2>&1 &
  timer=$!
  disown "$timer"  # or the shell tells of its end
  wait "$job" || status=$?
  kill_tree "$timer"
  return "$status"
}

kill_tree() {
  local child
  for child in $(cat "/proc/$1/task/"*/children 2>/dev/null); do kill_tree "$child"; done
  kill -KILL "$1" 2>/dev/null || true
}

# expect_ends <mpirun>: that no job has hung. But the launcher of MPICH sometimes does not see that a rank was killed, mostly one that has not begun
# MPI yet, and the others wait for it for hours.
expect_ends() { [ ! -s "$work/hung" ] || [[ $1 == *mpich ]] || fail "a job hung: $(cat "$work/hung")"; }

# time_of <command>...: runs it and sets $took to its milliseconds.
time_of() {
  local start
  start=$(date +%s%3N)
  "$@" || return 1
  # shellcheck disable=SC2034  # for whoever called
  took=$(($(date +%s%3N) - start))
}

# part_of <milliseconds> <random number>: seconds, from a quarter to two thirds, so that a job is killed after it began and before it ends on any machine.
part_of() {
  local milliseconds=$(($1 * ($2 % 42 + 25) / 100))
  printf '%d.%03d' $((milliseconds / 1000)) $((milliseconds % 1000))
}

fail() {
  echo "$(basename "$0" .sh): $*" >&2
  tail -n 20 "$work/output" >&2
  exit 1
}
