#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Programs of the README of version 0.1.0 compile with no other changes than those that the guide lists: v0_1.sh <root of the source> <compiler>
set -euo pipefail
root=$1 compiler=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for program in "$root"/tests/consumer/v0_1/*.cpp; do
  sed 's|<trainhook/engine/eigen_session.hpp>|<trainhook/engine.hpp>|' "$program" >"$folder/program.cpp"
  "$compiler" -std=c++20 -DTRAINHOOK_SEPARATE_COMPILATION -fsyntax-only -I"$root/include" -isystem /usr/include/eigen3 "$folder/program.cpp" ||
    { echo "v0_1: ${program##*/} of version 0.1.0 does not compile"; exit 1; }
done
