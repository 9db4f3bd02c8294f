#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs a program in an empty folder, where it may use the directory `run`, and compares what it prints with a file:
# prints.sh <file> <program>
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
"$2" run >said 2>log </dev/null || { echo "$(basename "$2") ended with status $?:" >&2; cat log >&2; exit 1; }
diff -u --label "$1" --label "what it prints" "$1" said || { cat log >&2; exit 1; }
