#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# compile.sh <compiler> <include folder> <source>: right as it is, wrong with -DWRONG, and wrong for the reason given in the source: in the first
# error and the two lines after it, or, "// WRONG LATER: ", anywhere.
set -euo pipefail
compile=("$1" -std=c++20 -DTRAINHOOK_SEPARATE_COMPILATION -fsyntax-only -Wall -Wextra -Werror -I"$2" "$3")
reason=$(sed -nE 's|^// WRONG( LATER)?: ||p' "$3")
[ -n "$reason" ] || { echo "$3 has no line '// WRONG: <words of the error>'"; exit 1; }
"${compile[@]}"
if said=$("${compile[@]}" -DWRONG 2>&1); then
  echo "$3 compiles with -DWRONG"
  exit 1
fi
told=$said
grep -q '^// WRONG LATER: ' "$3" || told=$(sed -n '/error: /,$p' <<<"$said" | awk 'NR <= 3')
grep -qF -- "$reason" <<<"$told" || { echo "$3 does not fail for '$reason' but: $said"; exit 1; }
