#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Compares tests/cases.txt with what the last whole run of ctest says: cases.sh [build folder]. An id counts as shown if it stands at the
# front of the name of a case that passed, as in B019 and S38 of CheckpointSaverHook.B019_S38_RefusesSaverAndScaffoldAtOnce. Ends 1 for an
# id that has no case, whose case failed or did not run, that is listed twice, or that a case names although it is not listed.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
report=${1:-$root/build/gcc}/ctest-output.txt
[ -f "$report" ] || { echo "cases: $report is not there; it is written by .ci/ctest" >&2; exit 1; }

awk '
  function complain(id, what) { print "cases: " id " " what; bad++ }
  FNR == NR {
    if ($1 in listed) complain($1, "is listed twice")
    listed[$1] = 1
    order[++count] = $1
    if ($2 == "not" && $3 == "applicable:") excused[$1] = 1
    next
  }
  match($0, /^ *[0-9]+\/[0-9]+ Test +#[0-9]+: /) {
    split(substr($0, RLENGTH + 1), words, " ")
    test = words[1]
    name = test
    if (!sub(/^.*\./, "", name)) next
    tokens = split(name, part, /[_\/]/)
    for (i = 1; i <= tokens && part[i] ~ /^[A-Z][A-Z]?[0-9]+$/; i++) {
      if (!(part[i] in listed) && !told[part[i]]++) complain(part[i], "is named by " test " and not listed")
      if (part[i] in excused) complain(part[i], "is listed as not applicable, but " test " shows it")
      if ($0 ~ / Passed +[0-9.]+ sec *$/) passed[part[i]]++
      else if ($0 ~ /\*\*\*(Skipped|Not Run)/) skipped[part[i]] = test
      else failed[part[i]] = test
    }
  }
  END {
    for (i = 1; i <= count; i++) {
      id = order[i]
      if (id in excused) continue
      if (id in failed) complain(id, "failed: " failed[id])
      else if (id in skipped) complain(id, "did not run: " skipped[id])
      else if (!(id in passed)) complain(id, "has no case that ran")
      else shown++
    }
    for (id in excused) left_out++
    printf "cases: %d of %d shown, %d not applicable\n", shown, count, left_out
    exit bad > 0
  }' "$root/tests/cases.txt" "$report"
