#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds and runs what several processes do together, with OpenMPI and with MPICH: the tests of mpi/, and a job that is killed. Arguments go to ctest.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
"$root/.ci/packages" tests examples mpi

build=$root/build/gcc  # where the quickstart and tests/run.sh have compiled the libraries
for mpi in openmpi mpich; do
  "$root/.ci/configure" gcc -U 'MPI*' -DCMAKE_DISABLE_FIND_PACKAGE_MPI=OFF -DMPI_EXECUTABLE_SUFFIX=".$mpi" \
    -DTRAINHOOK_BUILD_TESTS=ON -DTRAINHOOK_BUILD_EXAMPLES=ON -DTRAINHOOK_ARCHITECTURE_TESTS=OFF
  cmake --build "$build" --target mpi_programs distributed heat checkpoint
  echo "=== $mpi"
  "$root/.ci/ctest" "$build" -L mpi "$@"
  "$root/tests/mpi/kill.sh" "mpirun.$mpi" "$build/tests/mpi/train_line" "$build/tests/mpi/mpi_own_draws" 4
  "$root/tests/mpi/distributed.sh" "mpirun.$mpi" "$build/examples/distributed" "$build/examples/checkpoint"
  "$root/tests/mpi/heat.sh" "mpirun.$mpi" "$build/examples/heat" "$build/examples/checkpoint"
done
