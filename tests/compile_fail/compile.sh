#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# compile.sh <compiler> <include folder> <folder>: compiles into the folder what most sources include.
# compile.sh <compiler> <include folder> <folder> <source>: right as it is, wrong with -DWRONG, and wrong for the reason given in the source, in the
# first error or the two lines after it. If the source gives several reasons, an error says each so.
set -euo pipefail
# Of g++ 13 and later -Wall warns of functions that do not override, before the error that says what to do.
compile=("$1" -std=c++20 -DTRAINHOOK_SEPARATE_COMPILATION -Wall -Wextra -Werror -Wno-overloaded-virtual -I"$2")
headers=$3/compile_fail.hpp
if [ $# = 3 ]; then
  printf '#include <trainhook/%s>\n' hooks/hooks.hpp testing/scripted_session.hpp trainhook.hpp >"$headers"
  exec "${compile[@]}" -x c++-header "$headers" -o "$headers.gch"  # clang looks for that name, too
fi
compile+=(-fsyntax-only -include "$headers" "$4")
reasons=$(sed -n 's|^// WRONG: ||p' "$4")
[ -n "$reasons" ] || { echo "$4 has no line '// WRONG: <words of the error>'"; exit 1; }
"${compile[@]}"
if said=$("${compile[@]}" -DWRONG 2>&1); then
  echo "$4 compiles with -DWRONG"
  exit 1
fi
told=$(awk -v reasons="$(wc -l <<<"$reasons")" '/error: / && (reasons > 1 || !errors++) { left = 3 } left-- > 0' <<<"$said")
while IFS= read -r reason; do
  grep -qF -- "$reason" <<<"$told" || { echo "$4 does not fail for '$reason' but: $said"; exit 1; }
done <<<"$reasons"
