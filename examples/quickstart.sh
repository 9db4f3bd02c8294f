#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing, builds the quickstart and runs it here; arguments are passed on. Safe to run again: only what changed
# is compiled.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$root/build/gcc

"$root/.ci/packages" examples
"$root/.ci/packages" data || echo "quickstart: the data set (Debian package dataset-fashion-mnist) cannot be had" >&2

# The build reports on standard error; standard output is the program's own.
log=$build/quickstart.log
rm -f "$log"
[ -e "$build/examples/quickstart" ] || echo "quickstart: the library is compiled once, in one to four minutes on two cores" >&2
if ! { "$root/.ci/quietly" "$log" "quickstart: configuring" "$root/.ci/configure" gcc -DTRAINHOOK_BUILD_EXAMPLES=ON &&
  "$root/.ci/quietly" "$log" "quickstart: compiling" cmake --build "$build" --target quickstart; }; then
  echo "quickstart: the build in $build failed; remove that folder to start afresh" >&2
  exit 1
fi
exec "$build/examples/quickstart" "$@"
