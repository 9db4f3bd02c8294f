#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# consume.sh find_package|add_subdirectory <root of the source> <build folder> <compiler>
set -euo pipefail
way=$1 root=$2 build=$3
export CXX=$4
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

given=(-DCONSUME="$way")
if [ "$way" = find_package ]; then
  cmake --install "$build" --prefix "$folder/installed" >"$folder/installed.txt"
  given+=(-DCMAKE_PREFIX_PATH="$folder/installed")
  # What is installed must do without the source, so it is used from a place that does not know where that is.
  if grep -rlF "$root" "$folder/installed"; then echo "the installed files above name the source folder"; exit 1; fi
else
  given+=(-DTRAINHOOK_SOURCE="$root")
fi

cp -r "$root/tests/consumer/program" "$folder/program"
cmake -S "$folder/program" -B "$folder/build" -G Ninja -DCMAKE_EXPORT_COMPILE_COMMANDS=ON "${given[@]}" >"$folder/configured.txt" ||
  { cat "$folder/configured.txt"; exit 1; }
cmake --build "$folder/build"
"$folder/build/sub/program"

# All the compiler was told: warnings, definitions and optimisation are the user's own business.
commands=$folder/build/compile_commands.json
leaked=$(grep '"command"' "$commands" | tr ' ' '\n' | grep -E '^-(W|D|O|f|m|pedantic)' || true)
if [ -n "$leaked" ]; then
  echo "flags that the consumer never asked for:" $leaked
  exit 1
fi
# Tests, examples and benchmarks of ours are not part of somebody else's project.
if find "$folder/build" -name '*_test*' -o -name quickstart | grep .; then
  echo "the consumer built programs of ours"
  exit 1
fi
