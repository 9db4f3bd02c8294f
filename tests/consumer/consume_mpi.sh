#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# consume_mpi.sh <root of the source> <build folder> <compiler> <suffix of MPI's programs> <mpirun> <its option for the number of processes>
# The component mpi of an installed package: a program that uses it, and what one hears who lacks MPI.
set -euo pipefail
root=$1 build=$2 suffix=$4
export CXX=$3
run=("$5" "$6")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

fail() {
  echo "$*"
  exit 1
}

configure() {  # <build folder> <installed package> [argument]...
  cmake -S "$folder/program" -B "$folder/$1" -G Ninja -DCMAKE_PREFIX_PATH="$folder/$2" -DMPI_EXECUTABLE_SUFFIX="$suffix" \
    -DTRAINHOOK_COMPILE_OPTIONS=-O0 -DTRAINHOOK_WIDTHS=one "${@:3}" >"$folder/configured.txt" 2>&1
}
expect_said() {
  tr '\n' ' ' <"$folder/configured.txt" | tr -s ' ' | grep -F "$1" >/dev/null || fail "nobody said '$1': $(cat "$folder/configured.txt")"
}

cmake --install "$build" --prefix "$folder/installed" >"$folder/installed.txt"
cp -r "$root/tests/consumer/program_mpi" "$folder/program"
configure build installed || { cat "$folder/configured.txt"; exit 1; }
cmake --build "$folder/build"
compiled_file=$(cd "$folder/build" && ninja -t targets all | sed -n 's/^\(.*trainhook_sources\/mpi\.cpp\.o\):.*/\1/p')
cmake --build "$folder/build" --target "$compiled_file"
"${run[@]}" 1 "$folder/build/header_only" >"$folder/printed.txt" || fail "the program failed: $(cat "$folder/printed.txt")"
grep -Fx "rank 0 of 1: 1 2" "$folder/printed.txt" >/dev/null || fail "the program printed: $(cat "$folder/printed.txt")"

if configure none installed -DCMAKE_DISABLE_FIND_PACKAGE_MPI=ON; then fail "the component was found without MPI"; fi
expect_said "trainhook needs libraries that were not found. On Debian: apt-get install libopenmpi-dev"

cmake -S "$root" -B "$folder/without" -G Ninja -DCMAKE_DISABLE_FIND_PACKAGE_MPI=ON -DTRAINHOOK_BUILD_TESTS=OFF -DTRAINHOOK_BUILD_EXAMPLES=OFF \
  -DTRAINHOOK_BUILD_BENCHMARKS=OFF >"$folder/configured.txt" 2>&1 || { cat "$folder/configured.txt"; exit 1; }
expect_said "without its module mpi and what uses it, because libraries were not found. On Debian: apt-get install libopenmpi-dev"
cmake --install "$folder/without" --prefix "$folder/installed_without" >"$folder/installed.txt"
configure later installed_without || fail "MPI is there now, and the component is not: $(cat "$folder/configured.txt")"
