#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what the tests need, builds and runs them. Ends 0 only if something ran, all of it passed, nothing was skipped that
# tests/skips.txt does not list, and each case of tests/cases.txt was shown. Arguments go to ctest: tests/run.sh -R core/
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$root/build/tests
start=$SECONDS

"$root/.ci/packages" tests examples data

# Neither optimised nor with debug information: nearly all the time goes into compiling. No NDEBUG: asserts stay on.
cmake --fresh -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O0 -DTRAINHOOK_COMPILE_OPTIONS=-O0 \
  -DTRAINHOOK_BUILD_BENCHMARKS=OFF -DTRAINHOOK_BUILD_EXAMPLES=OFF -DCMAKE_DISABLE_FIND_PACKAGE_MPI=ON  # that is tests/mpi/run.sh
cmake --build "$build"
tested=$SECONDS

trap 'echo "tests: set up and built in $((tested - start)) s, run in $((SECONDS - tested)) s"' EXIT
"$root/.ci/ctest" "$build" "$@"
if [ $# = 0 ]; then "$root/tests/cases.sh" "$build"; fi
