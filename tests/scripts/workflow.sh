#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The workflow has each stage of .ci/run as a job, and .ci/run runs each but `systems`: workflow.sh <root of the source>
set -euo pipefail
cd "$1"
stages=$(sed -n 's/^stage_\([a-z_]*\)() .*/\1/p' .ci/run | sort)
jobs=$(sed -n 's/^ *stage: \[\(.*\)\]$/\1/p' .github/workflows/ci.yml | tr -d ' ' | tr ',' '\n' | sort)
runs=$(sed -nE 's/^first="(.*)" beside="(.*)" rest="(.*)" last="(.*)"$/\1 \2 \3 \4 systems/p' .ci/run | tr ' ' '\n' | sort)
diff <(echo "$jobs") <(echo "$stages") || { echo "the stages differ: < of .github/workflows/ci.yml, > of .ci/run"; exit 1; }
diff <(echo "$runs") <(echo "$stages") || { echo ".ci/run has other stages (>) than it runs (<)"; exit 1; }
