#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Has TensorFlow and TensorBoard read what the quickstart wrote, and the other way round. Makes its own virtual environment; fails, never
# skips, where its packages cannot be had or no case was found. Arguments go to pytest: tests/interop/run.sh -k events
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=$root/build/gcc
here=$root/build/interop
start=$SECONDS
cd "$root"
mkdir -p "$here"

"$root/.ci/packages" build examples data torch interop || { echo "interop: the packages above could not be installed" >&2; exit 1; }
environment=$("$root/.ci/tensorflow" "$here/venv")
echo "interop: TensorFlow is ready after $((SECONDS - start)) s"

"$root/.ci/configure" gcc -DTRAINHOOK_BUILD_EXAMPLES=ON -DTRAINHOOK_BUILD_INTEROP=ON
cmake --build "$build" --target quickstart continue_training write_op_cases write_shape_cases write_models run_imported run_tutorials write_systems write_data \
  write_summaries write_runs write_metrics write_hooks write_estimator rewrite_checkpoint rewrite_exchange write_torch manage_checkpoints train_ranks start_warm checkpoint

# One thread and no optimising compiler, so that figures are repeatable; no GPU is looked for.
export TRAINHOOK_BUILD=$build TRAINHOOK_SOURCE=$root
export TF_CPP_MIN_LOG_LEVEL=2 TF_ENABLE_ONEDNN_OPTS=0 CUDA_VISIBLE_DEVICES=-1 PYTHONDONTWRITEBYTECODE=1 PYTHONNOUSERSITE=1
report=$here/report.xml
rm -f "$report"
"$environment/bin/python" -m pytest "$root/tests/interop" --rootdir "$root/tests/interop" -p no:cacheprovider --basetemp "$here/tmp" \
  --junitxml "$report" -rs -q "$@" </dev/null

# pytest ends 5 where it collected nothing; a skipped case ends 0, which is not enough here.
if ! grep -q ' skipped="0"' "$report"; then
  echo "interop: cases were skipped; each has to run" >&2
  exit 1
fi
echo "interop: $(sed -n 's/.*<testsuite [^>]* tests="\([0-9]*\)".*/\1/p' "$report" | head -n 1) cases in $((SECONDS - start)) s"
