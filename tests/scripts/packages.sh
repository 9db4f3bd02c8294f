#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Each script that a person starts installs the packages of what it uses: packages.sh <root of the source>
set -euo pipefail
cd "$1"
failures=0

# What a script says: itself without comments, its lines joined, without calls of scripts that install what they need, and with
# the scripts it calls that install nothing.
text_of() {
  local script=$1 called
  sed -e 's/^ *#.*//' -e 's/  # .*//' -e '/quickstart[.]sh/d' "$script" | sed -e ':more' -e '/\\$/{N;s/\\\n//;b more' -e '}'
  for called in .ci/configure .ci/configure_tests .ci/clang-tidy .ci/tensorflow tests/bench/compile_bench.py; do
    if [ "$called" != "$script" ] && sed 's/^ *#.*//' "$script" | grep -F "$called" >/dev/null; then text_of "$called"; fi
  done
}

for script in .ci/run .ci/quick .ci/newest .ci/systems .ci/tidy .github/screenshot.sh examples/quickstart.sh tests/run.sh tests/bench/run.sh tests/fuzz/run.sh \
  tests/interop/run.sh tests/kill/run.sh tests/mpi/run.sh tests/soak.sh; do
  text=$(text_of "$script")
  # shellcheck disable=SC2046  # a list of words
  installed=$(.ci/packages --list $(sed -nE '/^ *#/d; s/.*\.ci\/packages"? ([a-z ]+[a-z]).*/\1/p' "$script"))
  needs() {  # <pattern> <package>...: whatever matches the pattern needs the packages
    local pattern=$1 package
    shift
    grep -qE -- "$pattern" <<<"$text" || return 0
    for package in "$@"; do
      grep -qxF "$package" <<<"$installed" || { echo "$script uses '$pattern' and does not install $package"; failures=1; }
    done
  }
  # shellcheck disable=SC2046  # a list of words
  needs 'cmake' $(.ci/packages --list build)
  needs '(^|[ (])cc ' g++
  needs 'TRAINHOOK_BUILD_EXAMPLES=ON|CLI/CLI.hpp' libcli11-dev
  needs 'TRAINHOOK_BUILD_BENCHMARKS=ON' libbenchmark-dev
  needs 'python' python3
  needs '-m venv' python3-venv
  needs 'clang\+\+-14' clang-14
  needs '-fuse-ld=lld' lld-14
  needs 'clang-tidy-14' clang-tidy-14
  needs 'clang\+\+-19' clang-19
  needs 'clang-format-16' clang-format-16
  needs 'clang.*-fsanitize' libclang-rt-14-dev
  needs 'chromium|chromedriver' chromium chromium-driver
  needs 'mpirun|mpicxx' libopenmpi-dev openmpi-bin
  needs 'mpich' libmpich-dev mpich
  needs 'target docs' doxygen
  needs 'TRAINHOOK_BUILD_TESTS=ON' libgtest-dev libgmock-dev
  # Tests, but for those of mpi/, the benchmarks and the quickstart read the data set.
  if [ "$script" != tests/mpi/run.sh ] && ! grep -q -- '--data synthetic' <<<"$text"; then needs '[.]ci/ctest|_bench|quickstart' dataset-fashion-mnist; fi
done
exit $failures
