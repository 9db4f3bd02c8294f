#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The programs write the same bytes as before: compare.sh <program> <expected files>. Who changes a format on purpose writes the program's output there.
set -euo pipefail
files=$(mktemp) log=$(mktemp)
trap 'rm -f "$files" "$log"' EXIT
"$1" >"$files" 2>"$log" || { tail -n 20 "$log"; exit 1; }
diff "$2" "$files" || { echo "these files differ (< what was expected: path, bytes, CRC-32C)"; exit 1; }
