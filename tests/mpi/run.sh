#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds and runs what several processes do together, with OpenMPI and with MPICH: the tests of mpi/, and a job that is killed. Arguments go to ctest.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
"$root/.ci/packages" tests examples mpi

for mpi in openmpi mpich; do
  build=$root/build/mpi-$mpi
  cmake --fresh -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O0 -DTRAINHOOK_COMPILE_OPTIONS=-O0 \
    -DMPI_EXECUTABLE_SUFFIX=".$mpi" -DTRAINHOOK_BUILD_BENCHMARKS=OFF -DTRAINHOOK_ARCHITECTURE_TESTS=OFF
  cmake --build "$build" --target mpi_programs distributed
  echo "=== $mpi"
  "$root/.ci/ctest" "$build" -L mpi "$@"
  "$root/tests/mpi/kill.sh" "mpirun.$mpi" "$build/examples/distributed" "$build/tests/mpi/mpi_own_draws" 10
done
