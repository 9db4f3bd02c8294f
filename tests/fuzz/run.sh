#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Feeds hostile files to every reader of the library, with clang's libFuzzer, addresses and undefined behaviour checked, checksums
# switched off, 512 MiB: run.sh [seconds for each, 20] [fuzzer]... What it finds is left in build/fuzz/found.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
seconds=${1:-20}
[ $# = 0 ] || shift
case $seconds in *[!0-9]*) echo "run.sh: '$seconds' is not a number of seconds" >&2; exit 2 ;; esac
build=$root/build/fuzz
"$root/.ci/packages" build checks
"$root/.ci/configure" fuzz -DTRAINHOOK_WIDTHS=one -DCMAKE_CXX_COMPILER=clang++-14 -DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=lld -DTRAINHOOK_COMPILE_OPTIONS=-O1 -DTRAINHOOK_BUILD_FUZZERS=ON \
  -DCMAKE_CXX_FLAGS_DEBUG="-O1 -g1 -fno-omit-frame-pointer -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all"
cmake --build "$build" --target fuzzers
fuzzers=("$@")
if [ ${#fuzzers[@]} = 0 ]; then mapfile -t fuzzers < <(cd "$root/tests/fuzz" && printf '%s\n' *_fuzz.cpp | sed 's/_fuzz[.]cpp//'); fi
mkdir -p "$build/found"

fuzz() {  # <name>: its seeds, then what earlier runs kept, then as much as it finds in the time
  local program=$build/tests/fuzz/$1_fuzz kept=$build/kept/$1
  mkdir -p "$kept"
  FUZZ_SEEDS=$kept/seeds "$program" &&
    "$program" -max_total_time="$seconds" -rss_limit_mb=512 -malloc_limit_mb=512 -timeout=10 -max_len=65536 -print_final_stats=1 \
      -artifact_prefix="$build/found/$1-" "$kept" "$kept/seeds" >"$build/$1.log" 2>&1 || { tail -n 25 "$build/$1.log"; return 1; }
  printf 'fuzz: %-18s %9d inputs, nothing found\n' "$1" "$(awk '/number_of_executed_units/ {print $2}' "$build/$1.log")"
}

status=0 running=0
for name in "${fuzzers[@]}"; do
  fuzz "$name" &
  if [ $((++running)) -ge "$(nproc)" ]; then wait -n || status=1; running=$((running - 1)); fi
done
while [ $running -gt 0 ]; do wait -n || status=1; running=$((running - 1)); done
[ $status = 0 ] || echo "fuzz: what breaks the library is in $build/found" >&2
exit $status
