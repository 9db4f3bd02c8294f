#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing, builds the quickstart and runs it here; arguments are passed on. Safe to run again: then only the run is left.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$root/build/release

"$root/.ci/packages" examples
"$root/.ci/packages" data || echo "quickstart: the data set (Debian package dataset-fashion-mnist) cannot be had" >&2

# The build is told on standard error, so that standard output is the program's own.
if ! { cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DTRAINHOOK_BUILD_TESTS=OFF -DTRAINHOOK_BUILD_BENCHMARKS=OFF \
  -DTRAINHOOK_BUILD_EXAMPLES=ON --log-level=WARNING && cmake --build "$build" --target quickstart; } >&2; then
  echo "quickstart: the build in $build failed; remove that folder to start afresh" >&2
  exit 1
fi
exec "$build/examples/quickstart" "$@"
