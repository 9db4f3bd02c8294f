#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests of the two ways to compile the library, one function each: modes.sh <name> <root of the source> <compiler> [argument]...
set -euo pipefail
name=$1 root=$2 compiler=$3
shift 3
here=$root/tests/modes
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "$name: $*"
  exit 1
}

# Each impl/src.hpp lists every .ipp file of its folders once: an optional module's its own, the core library's all others.
test_lists() {
  local list module files listed
  cd "$root/include"
  for list in trainhook/impl/src.hpp trainhook/*/impl/src.hpp; do
    module=${list%/impl/src.hpp}
    listed=$(sed -n 's/^#include <\(trainhook\/.*\.ipp\)>$/\1/p' "$list" | sort)
    files=$(find "$module" -name '*.ipp' | sort)
    if [ "$module" = trainhook ]; then
      for module in trainhook/*/impl/src.hpp; do files=$(grep -v "^${module%/impl/src.hpp}/" <<<"$files"); done
    fi
    [ -n "$listed" ] || fail "$list lists nothing"
    diff <(echo "$files") <(echo "$listed") || fail "$list differs (< there is such a file, > it is listed)"
  done
}

# Each op's object is in the table of its family, where imported graphs find it; builders do without the table.
test_ops() {
  local file defined listed
  for file in "$root"/include/trainhook/graph/ops/impl/*.ipp; do
    defined=$(sed -n 's/^inline constexpr OpDef \(k[A-Za-z0-9]*Op\){.*/\1/p' "$file" | sort)
    listed=$({ grep -o '&k[A-Za-z0-9]*Op\b' "$file" || true; } | tr -d '&' | sort)
    diff <(echo "$defined") <(echo "$listed") || fail "the table of $file differs (< there is such an op, > it is listed)"
  done
}

# mixing <library> <version>: the linker refuses a program with files of both modes, or of two forms of the standard library.
test_mixing() {
  local library=$1 symbol=trainhook_$2_mixes_with_header_only_files debug=trainhook_$2_debug_mode_mixes_with_header_only_files
  local separate=-DTRAINHOOK_SEPARATE_COMPILATION file
  for file in ones use_ones; do
    "$compiler" -std=c++20 -I"$root/include" -c "$here/$file.cpp" -o "$work/$file-header_only.o"
    "$compiler" -std=c++20 -I"$root/include" $separate -c "$here/$file.cpp" -o "$work/$file-compiled.o"
  done
  "$compiler" -std=c++20 -I"$root/include" $separate -D_GLIBCXX_DEBUG -c "$here/use_ones.cpp" -o "$work/use_ones-debug.o"

  links() { "$compiler" -o "$work/program" "$work/$1.o" "$work/$2.o" "${@:3}" -lfmt -pthread >"$work/said" 2>&1; }
  refused() {  # <symbol> <objects and libraries>
    if links "${@:2}"; then fail "$2 and $3 went into one program"; fi
    grep -q "\b$1\b" "$work/said" || fail "the linker does not name $1 when it refuses $2 and $3: $(cat "$work/said")"
  }
  links use_ones-header_only ones-header_only && "$work/program" || fail "header-only: $(cat "$work/said")"
  links use_ones-compiled ones-compiled "$library" && "$work/program" || fail "compiled: $(cat "$work/said")"
  refused "$symbol" use_ones-header_only ones-compiled "$library"
  refused "$symbol" use_ones-compiled ones-header_only "$library"
  refused "$symbol" use_ones-compiled ones-header_only  # also if no library comes with them
  refused "$debug" use_ones-debug ones-compiled "$library"
}

# names_of_eigen <library>: what the compiled engine has of Eigen cannot merge with a user's Eigen of the same name.
test_names_of_eigen() {
  nm --demangle "$1" >"$work/symbols"
  grep -q '\btrainhook_eigen::' "$work/symbols" || fail "$1 has no symbols of Eigen under our name"
  if grep '\bEigen::' "$work/symbols" | head -n 5 | grep .; then fail "these symbols of $1 have Eigen's own names"; fi
}

# same_bits <program> <program>: both modes print the same, and write the same checkpoints and graphs. (State files hold times.)
test_same_bits() {
  local compared=0 file mode
  for mode in 1 2; do
    mkdir "$work/$mode"
    (cd "$work/$mode" && "$1" >printed) || fail "$1 failed"
    shift
  done
  cat "$work/1/printed"
  cd "$work/1"
  for file in printed */model.ckpt-* */graph.pbtxt; do
    cmp "$file" "../2/$file" || fail "$file depends on the mode"
    compared=$((compared + 1))
  done
  [ "$(find . -name 'model.ckpt-25.data-*' | wc -l)" = 2 ] || fail "these are not the expected checkpoints: $(ls -- *)"
  echo "$name: $compared files are the same"
}

# without_cmake <folder of Eigen>: two files and a plain command. With clang: g++, which compiles the same files in the libraries, takes minutes
# and 4 GB for all in one.
test_without_cmake() {
  { printf '#include <trainhook/%s>\n' impl/src.hpp media/impl/src.hpp engine/impl/src.hpp; cat "$here/train_graph.cpp"; } >"$work/main.cpp"
  cd "$work"
  clang++-14 -std=c++20 -DTRAINHOOK_SEPARATE_COMPILATION -I"$root/include" -isystem "$1" -o program main.cpp "$here/train_loop.cpp" \
    -lfmt -lpng -lz -pthread || fail "the program cannot be compiled"
  ./program >printed || fail "the program failed"
  grep -q '^loop: loss ' printed && grep -q '^graph: loss ' printed || fail "the program printed: $(cat printed)"
}

# two_files <folder of Eigen>: with clang, too, two header-only files make one program.
test_two_files() {
  local file pids=""
  for file in train_graph train_loop; do
    clang++-14 -std=c++20 -I"$root/include" -isystem "$1" -c "$here/$file.cpp" -o "$work/$file.o" &
    pids+=" $!"
  done
  for file in $pids; do wait "$file" || fail "a file cannot be compiled"; done
  cd "$work"
  clang++-14 -o program train_graph.o train_loop.o -lfmt -lpng -lz -pthread || fail "the files do not make a program"
  ./program >printed || fail "the program failed"
  grep -q '^loop: loss ' printed && grep -q '^graph: loss ' printed || fail "the program printed: $(cat printed)"
}

# What a user's file gets in header-only mode does not grow unnoticed: functions of the README's your_loop, g++ -O2.
test_functions() {
  local most=1476 count
  awk -v folder="$work" -f "$root/tests/readme/extract.awk" "$root/README.md" >/dev/null
  g++ -std=c++20 -O2 -I"$root/include" -c "$work/your_loop.cpp" -o "$work/your_loop.o"
  count=$(nm --defined-only "$work/your_loop.o" | grep -c ' [TtWw] ')
  echo "$name: $count, at most $most"
  [ "$count" -le "$most" ] || fail "your_loop.cpp has $count functions"
}

declare -F "test_$name" >/dev/null || fail "there is no such test"
"test_$name" "$@"
