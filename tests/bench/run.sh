#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures ours beside its peers in one run: run.sh [--json FILE] [--only NAME]. Ends 0 if everything was measured, whether the goals hold
# or not: that is for the reader of the records. Where TensorFlow cannot be had, the rows beside it say "missing".
# TRAINHOOK_TENSORFLOW_PYTHON names a Python that has TensorFlow 2.15; without it .ci/tensorflow makes one.
# TRAINHOOK_BENCH_DIR names a folder on the disk to be measured; without it that is build/bench.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=$root/build/bench
json="" only=""
while [ $# -gt 0 ]; do
  case $1 in
    --json) json=${2:?--json needs a file}; shift 2 ;;
    --only) only=${2:?--only needs the name of a benchmark}; shift 2 ;;
    *) echo "run.sh: unknown option $1; there are --json FILE and --only NAME" >&2; exit 2 ;;
  esac
done
programs=() variants=()
for source in "$root"/tests/bench/*_bench.cpp; do
  name=$(basename "$source" _bench.cpp)
  if [ -z "$only" ] || [ "$only" = "$name" ]; then programs+=("$name"); fi
done
compile=no
if [ -z "$only" ] || [ "$only" = compile ]; then compile=yes; fi
if [ ${#programs[@]} = 0 ] && [ $compile = no ]; then
  echo "run.sh: no benchmark is called '$only'; there are compile $(cd "$root/tests/bench" && echo *_bench.cpp | sed 's/_bench\.cpp//g')" >&2
  exit 2
fi

. "$root/tests/mpi/ranks.sh"
"$root/.ci/packages" bench data interop mpi >&2
mkdir -p "$build"
records=$build/records.jsonl
: >"$records"
table_head() { printf '%-36s%10s%10s %-12s%-22s%10s  %s\n' name ours peer unit "peer's name" ratio goal >&2; }

if [ ${#programs[@]} != 0 ]; then
  cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
    -DTRAINHOOK_BUILD_TESTS=OFF -DTRAINHOOK_BUILD_EXAMPLES=OFF -DTRAINHOOK_BUILD_BENCHMARKS=ON >&2
  for name in "${programs[@]}"; do
    case $name in
      mlp_step) variants+=(mlp_step_bench_o2 mlp_step_bench_o3) ;;
      product) variants+=(product_bench_sse); ! grep -q avx2 /proc/cpuinfo || variants+=(product_bench_avx2) ;;
    esac
  done
  cmake --build "$build" --target "${programs[@]/%/_bench}" "${variants[@]}" >&2

  # TensorFlow waits in processes of its own, one with one thread and one with its defaults, for what the benchmarks ask, through named pipes.
  export TRAINHOOK_BENCH_DIR=${TRAINHOOK_BENCH_DIR:-$build}
  peers=$(mktemp -d)
  tensorflow=()
  trap '[ ${#tensorflow[@]} = 0 ] || kill "${tensorflow[@]}" 2>/dev/null; rm -rf "$peers"' EXIT
  python=${TRAINHOOK_TENSORFLOW_PYTHON:-}
  if [ -z "$python" ] && environment=$("$root/.ci/tensorflow" "$root/build/interop/venv"); then python=$environment/bin/python; fi
  if [ -n "$python" ]; then
    ready=yes
    for threads in 1 0; do
      mkdir "$peers/$threads"
      mkfifo "$peers/$threads/questions" "$peers/$threads/answers"
      "$python" "$root/tests/bench/tensorflow_peers.py" "$peers/$threads" $threads 2>>"$build/tensorflow.log" &
      tensorflow+=($!)
      # The first answer comes when TensorFlow is loaded, and never where that failed.
      timeout 180 bash -c 'echo ready >"$1/questions" && read -r _ <"$1/answers"' _ "$peers/$threads" || ready=no
    done
    if [ $ready = yes ]; then
      export TRAINHOOK_BENCH_PEERS=$peers/1 TRAINHOOK_BENCH_PEERS_ALL_THREADS=$peers/0
    else
      tail -n 3 "$build/tensorflow.log" >&2
      kill "${tensorflow[@]}" 2>/dev/null || true
      tensorflow=()
    fi
  fi
  [ -n "${TRAINHOOK_BENCH_PEERS:-}" ] || echo "run.sh: TensorFlow 2.15 is missing, and with it the rows beside it" >&2

  table_head
  for name in "${programs[@]}"; do
    program=$build/tests/bench/${name}_bench
    if [ "$name" = mpi ]; then
      for ranks in 1 2 4; do mpirun -n "$ranks" "$program" >>"$records"; done
    else
      "$program" >>"$records"
    fi
  done
  for variant in "${variants[@]}"; do "$build/tests/bench/$variant" >>"$records"; done
  if [ ${#tensorflow[@]} != 0 ]; then
    for threads in 1 0; do echo quit >"$peers/$threads/questions"; done
    wait "${tensorflow[@]}" || true
    tensorflow=()
  fi
fi
if [ $compile = yes ]; then
  table_head
  python3 "$root/tests/bench/compile_bench.py" "$root" "$build/compile" >>"$records"
fi

if [ -n "$json" ]; then
  { echo "["; sed '$!s/$/,/' "$records"; echo "]"; } >"$json"
fi
missed=$(grep -c '"holds": false' "$records" || true)
echo "benchmarks: $(wc -l <"$records") records, $missed missed their goal" >&2
