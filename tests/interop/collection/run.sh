#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures what is read, imported, run and trained of TensorFlow's files as packages ship them, beside TensorFlow: run.sh [folder with other files].
# By hand: it fetches the packages. Writes build/interop/collection/table.tsv and prints sums.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
here=$root/build/interop/collection
mkdir -p "$here"

"$root/.ci/packages" build examples interop || { echo "collection: the packages above could not be installed" >&2; exit 1; }
python=$("$root/.ci/tensorflow" "$root/build/interop/venv")/bin/python
if [ $# -eq 0 ]; then
  "$root/tests/interop/collection/fetch.sh" "$python"
  set -- "$here/files"
fi

"$root/.ci/configure" gcc -DTRAINHOOK_BUILD_EXAMPLES=ON -DTRAINHOOK_BUILD_INTEROP=ON
cmake --build "$root/build/gcc" --target checkpoint rewrite_checkpoint run_imported list_unknown

export TF_CPP_MIN_LOG_LEVEL=3 TF_ENABLE_ONEDNN_OPTS=0 CUDA_VISIBLE_DEVICES=-1 PYTHONDONTWRITEBYTECODE=1 PYTHONNOUSERSITE=1
"$python" -W ignore "$root/tests/interop/collection/measure.py" "$1" "$root/build/gcc/examples" "$here/table.tsv"
