#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds and runs what several processes do together, with OpenMPI and with MPICH: the tests of mpi/, and a job that is killed. Arguments go to ctest.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
"$root/.ci/packages" tests examples mpi

build=$root/build/tests  # where tests/run.sh has compiled the libraries with the same flags
for mpi in openmpi mpich; do
  "$root/.ci/configure_tests" -U 'MPI*' -DCMAKE_DISABLE_FIND_PACKAGE_MPI=OFF -DMPI_EXECUTABLE_SUFFIX=".$mpi" \
    -DTRAINHOOK_ARCHITECTURE_TESTS=OFF -DTRAINHOOK_BUILD_EXAMPLES=ON  # not --fresh, which removes what is compiled
  cmake --build "$build" --target mpi_programs distributed checkpoint
  echo "=== $mpi"
  "$root/.ci/ctest" "$build" -L mpi "$@"
  "$root/tests/mpi/kill.sh" "mpirun.$mpi" "$build/tests/mpi/train_line" "$build/tests/mpi/mpi_own_draws" 4
  "$root/tests/mpi/distributed.sh" "mpirun.$mpi" "$build/examples/distributed" "$build/examples/checkpoint"
done
