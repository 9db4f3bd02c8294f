#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what the tests need, builds and runs them. Ends 0 only if something ran, all of it passed, nothing was skipped that
# tests/skips.txt does not list, and each case of tests/cases.txt was shown. Arguments go to ctest: tests/run.sh -R core/
# Programs that are killed at each of their calls are for tests/kill/run.sh, several processes for tests/mpi/run.sh, and the tests that take over a minute
# for .ci/run.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$root/build/gcc  # where the quickstart has compiled the libraries
start=$SECONDS

"$root/.ci/packages" tests examples data

log=$build/tests.log
rm -f "$log"
"$root/.ci/quietly" "$log" "tests: configuring" "$root/.ci/configure_tests"
"$root/.ci/quietly" "$log" "tests: compiling" cmake --build "$build"
tested=$SECONDS

trap 'echo "tests: set up and built in $((tested - start)) s, run in $((SECONDS - tested)) s"' EXIT
"$root/.ci/ctest" "$build" -LE 'kill|long' "$@"
if [ $# = 0 ]; then "$root/tests/cases.sh" "$build"; fi
