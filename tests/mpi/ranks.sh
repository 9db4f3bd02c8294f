# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What scripts that run several processes share; they source it. OpenMPI may be run by root, and by more processes than there are processors,
# so ranks that wait yield. MPICH ignores these. CMakeLists.txt says the same to ctest.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1

# For tests: makes a folder $work that goes with the script, where `fail` looks for the output of the last job.
prepare_test() {
  export OMPI_MCA_btl_vader_single_copy_mechanism=none  # a container may forbid one process to read the memory of another
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
}

fail() {
  echo "$(basename "$0" .sh): $*" >&2
  tail -n 20 "$work/output" >&2
  exit 1
}
