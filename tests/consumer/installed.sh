#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# README's lines and programs, with the Debian packages: installed.sh <root of the source> <compiler> <prefix where the packages are>
# If that is not /usr, the path of pkg-config has to name it.
set -euo pipefail
root=$1 compiler=$2 prefix=$3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

fail() {
  echo "installed: $*"
  exit 1
}

# README's program on the engine, with README's lines, by pkg-config and by CMake.
awk -v folder="$folder" -f "$root/tests/readme/extract.awk" "$root/README.md" >programs
mkdir program
mv graph.cpp program/mine.cpp
run() {
  "$1" 2>said.txt | grep -x 'loss 0.0000' || fail "$1 prints something else: $(cat said.txt)"
  "$prefix/bin/trainhook-checkpoint" list line | grep -F model.ckpt-500 >/dev/null || fail "the command does not list the last checkpoint"
  rm -r line
}
line=$(grep -E '^g[+][+] .*pkg-config' "$root/README.md")
start=$SECONDS
(cd program && bash -ec "${line/#g++/$compiler}")
run program/mine
echo "installed: compiled with README's line in $((SECONDS - start)) s"

{
  # shellcheck disable=SC2016  # a variable of CMake's
  printf '%s\n' 'cmake_minimum_required(VERSION 3.25)' 'project(mine LANGUAGES CXX)' 'add_compile_definitions(${DEFINE})' 'add_executable(mine mine.cpp)'
  sed -nE '/^find_package\(trainhook/,/^```/{/^```/d; p}' "$root/README.md"
} >program/CMakeLists.txt
configure() {
  cmake -S program -B built -G Ninja -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_COMPILER="$compiler" "$@" >said.txt 2>&1 || fail "$(cat said.txt)"
  libraries=$(cd built && ninja -t targets all | grep -E '^libtrainhook(_[a-z]+)?[.]a:' | grep -cv '_mpi[.]a' || true)  # which the project compiles itself; mpi is in no package
}
start=$SECONDS
configure -DCMAKE_BUILD_TYPE=Debug
[ "$libraries" = 0 ] || fail "the project compiles libraries that are in the package"
cmake --build built
run built/mine
echo "installed: compiled by CMake in $((SECONDS - start)) s"

# Whom they do not fit gets libraries that are made of the sources.
for setting in TRAINHOOK_FROM_SOURCES=ON TRAINHOOK_COMPILE_OPTIONS=-march=native DEFINE=_GLIBCXX_DEBUG CMAKE_CXX_FLAGS=-D_GLIBCXX_DEBUG; do
  configure '-UTRAINHOOK_*' -UDEFINE -UCMAKE_CXX_FLAGS "-D$setting"
  [ "$libraries" -ge 4 ] || fail "with $setting, the project links the package's libraries"
done

# What was called otherwise in 0.2; header-only; and the programs of others, who link more modules and install libraries of theirs.
# shellcheck disable=SC2046  # a list of words
"$compiler" -std=c++20 -o header_only "$root"/tests/consumer/program/one/*.cpp $(pkg-config --cflags --libs trainhook-headers)
[ "$(pkg-config --libs trainhook-engine-compiled)" = "$(pkg-config --libs trainhook-engine)" ] || fail "the old name trainhook-engine-compiled says something else"
./header_only || fail "the header-only program failed"
"$root/tests/consumer/consume.sh" find_package_whole "$root" "" "$compiler" "$prefix"
