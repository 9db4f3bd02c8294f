#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# README's lines for those who do without CMake, with the README's first program; and Xlib may come after trainhook. For .ci/systems: it takes minutes.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
ln -s "$root" trainhook
awk -v folder="$work" -f "$root/tests/readme/extract.awk" "$root/README.md" >programs
mv your_loop.cpp mine.cpp

grep -E "^(g[+][+] |echo '#include)" "$root/README.md" | grep -v pkg-config >lines
[ "$(grep -c '^g++' lines)" = 2 ] || { echo "plain: these are not the two ways to compile: $(cat lines)" >&2; exit 1; }
while read -r line; do
  echo "plain: $line"
  bash -ec "$line"
  [ -e mine ] || continue
  ./mine 2>/dev/null | grep -x 'y = 2.00 x + 1.00'
  rm -r mine run
done <lines

printf '#include <trainhook/trainhook.hpp>\n#include <X11/Xlib.h>\ntrainhook::StopAtStepHook hook({.last_step = 1});\n' >xlib.cpp
g++ -std=c++20 -DTRAINHOOK_SEPARATE_COMPILATION -I trainhook/include -fsyntax-only xlib.cpp
