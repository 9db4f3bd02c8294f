#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# consume.sh find_package[_whole]|add_subdirectory|FetchContent <root of the source> <build folder> <compiler> [prefix where it is installed, compiled]
set -euo pipefail
way=${1%_whole} whole=$1 root=$2 build=$3 packages=${5:-}
export CXX=$4
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

fail() {
  echo "$way: $*"
  exit 1
}

# The user wants more warnings than we know of, and none comes from our headers.
given=(-DCONSUME="$way" -DCMAKE_CXX_FLAGS="-Wall -Wextra -Wconversion -Wuseless-cast -Weffc++ -Werror"
  -DCMAKE_CXX_COMPILER_LAUNCHER="$("$root/.ci/launcher" "$folder")")
[ -n "$packages" ] || given+=(-DTRAINHOOK_COMPILE_OPTIONS=-O0 -DTRAINHOOK_WIDTHS=one)  # what is compiled here is run once
if [ -n "$packages" ]; then
  given+=(-DCMAKE_PREFIX_PATH="$packages")
elif [ "$way" = find_package ]; then
  cmake --install "$build" --prefix "$folder/installed" >"$folder/installed.txt"
  given+=(-DCMAKE_PREFIX_PATH="$folder/installed")
  # What is installed must do without the source, so it is used from a place that does not know where that is.
  if grep -rlF "$root" "$folder/installed"; then fail "the installed files above name the source folder"; fi
else
  given+=(-DTRAINHOOK_SOURCE="$root")
  [ "$way" = FetchContent ] || given+=(-DTRAINHOOK_INSTALL=ON)
fi

cp -r "$root/tests/consumer/program" "$folder/program"
configure() { cmake -S "$folder/program" -B "$folder/$1" -G Ninja -DCMAKE_EXPORT_COMPILE_COMMANDS=ON "${given[@]}" "${@:2}" >"$folder/configured.txt" 2>&1; }
configure build || { cat "$folder/configured.txt"; exit 1; }
grep -F "Link trainhook::trainhook." "$folder/configured.txt" >/dev/null || fail "no word about trainhook::compiled: $(cat "$folder/configured.txt")"
if [ "$whole" = find_package_whole ]; then
  # The programs of both folders, and that of the engine, or one file of it.
  cmake --build "$folder/build"
  engine=compiled_modules
  [ -n "$packages" ] || engine=$(cd "$folder/build" && ninja -t targets all | sed -n 's/^\(.*engine_1\.cpp\.o\):.*/\1/p')
  cmake --build "$folder/build" --target "$engine"
  for program in one/header_only one/header_only_modules one/compiled two/counter two/static_counter; do
    "$folder/build/$program" || fail "$program failed"
  done
  cmake --install "$folder/build" --prefix "$folder/users" >"$folder/users.txt"
  if grep -r trainhook:: "$folder/users" --include='users*.cmake'; then fail "the user's export names a target of ours that others do not have"; fi
  configure later -DLATER="$(dirname "$(find "$folder/users" -name counts.cmake)")" || { cat "$folder/configured.txt"; exit 1; }
  cmake --build "$folder/later"
  for program in header_only_later compiled_later; do "$folder/later/$program" || fail "$program failed"; done

  if configure nonsense -DCOMPONENT=nonsense; then fail "a component called nonsense was found"; fi
  tr '\n' ' ' <"$folder/configured.txt" | tr -s ' ' | grep -F "no component 'nonsense'. The components are: compat, compat_kernels, data, engine, estimator, exchange, media, model, mpi, ranks, testing, torch, watch." >/dev/null ||
    fail "nobody said which components there are: $(cat "$folder/configured.txt")"
elif [ "$way" = FetchContent ]; then
  cmake --build "$folder/build" --target header_only
  "$folder/build/one/header_only" || fail "the header-only program failed"
else
  # Of the library only the one file that the program needs; the others are built for find_package_whole.
  cmake --build "$folder/build" --target header_only header_only_modules
  "$folder/build/one/header_only" && "$folder/build/one/header_only_modules" || fail "the header-only programs failed"
  mapfile -t objects < <(cd "$folder/build" && ninja -t targets all | sed -nE 's#^(one/CMakeFiles/compiled\.dir/.*\.o|.*/trainhook_sources/core\.cpp\.o):.*#\1#p')
  cmake --build "$folder/build" --target "${objects[@]}"
  (cd "$folder/build" && "$CXX" -o compiled "${objects[@]}" -lfmt && ./compiled) || fail "the compiled program failed"
fi

# All the compiler was told for the user's files: warnings, definitions and optimisation are his own business. FMT_SHARED is fmt's.
flags() { sed -n 's/^ *"command": //p' "$folder/build/compile_commands.json" | grep -vE 'CMakeFiles/trainhook(_[a-z]+)?\.dir' | grep -E "$1" | tr ' ' '\n' |
  grep -E '^-(W|D|O|f|m|pedantic|std)' |
  grep -vE '^-(DFMT_SHARED|std=gnu\+\+20|Dcount_EXPORTS|W(all|extra|conversion|useless-cast|effc\+\+|error))$' | sort -u | tr '\n' ' '; }
[ -z "$(flags 'header_only(_modules)?\.dir')" ] || fail "flags that header-only programs never asked for: $(flags header_only)"
[ "$(flags 'compiled(_modules)?\.dir')" = "-DTRAINHOOK_SEPARATE_COMPILATION " ] || fail "flags of compiled programs: $(flags compiled)"
[ "$(flags 'static_count\.dir')" = "-DTRAINHOOK_SEPARATE_COMPILATION " ] || fail "flags of a static library: $(flags static_count)"

# Tests, examples and benchmarks of ours are not part of somebody else's project.
if find "$folder/build" \( -name '*_test' -o -name '*_test.*' -o -name quickstart \) | grep .; then fail "the consumer built programs of ours"; fi
