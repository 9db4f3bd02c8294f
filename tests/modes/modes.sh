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

# Each body is in one list, impl/src.hpp of its folder or of the one above, or one of the parts that it includes; trainhook/impl/src.hpp includes the lists of the core
# library's folders; and each list of bodies is a source file of a compiled library.
test_lists() {
  local lists list ending roots
  included() { sed -nE 's|^#include <trainhook/(.*)>$|\1|p' "$@" | grep -E "$ending" | sort; }
  cd "$root/include/trainhook"
  mapfile -t lists < <(find . -name 'src*.hpp' -path '*/impl/*' | sed 's#^[.]/##' | sort)
  ending='[.]ipp$'
  diff <(find . -name '*.ipp' | sed 's#^[.]/##' | sort) <(included "${lists[@]}") || fail "the lists differ (< there is such a body, > it is listed)"
  for list in "${lists[@]}"; do
    if included "$list" | grep -v "^${list%/impl/*}/"; then fail "$list has these bodies of another folder"; fi
  done
  roots=$(printf '%s/src.hpp\n' impl {compat,compat/kernels,data,engine,estimator,exchange,media,model,mpi,ranks,testing,torch,watch}/impl)
  ending='/src.*[.]hpp$'
  diff <(printf '%s\n' "${lists[@]}" | grep -vxF "$roots") <(included "${lists[@]}") ||
    fail "lists differ (< there is such a list, > it is included by another)"
  diff <(grep -lE '[.]ipp>$' "${lists[@]}" | sort) <(grep -oE '[a-z_/]+/impl/src(_[0-9]+)?' "$root/.cmake/trainhook-libraries.cmake" | sed 's/$/.hpp/' | sort) ||
    fail ".cmake/trainhook-libraries.cmake differs (< there is such a list, > it is a source file)"
}

# Each op's object is in the table of its family, where imported graphs find it; builders do without the table.
test_ops() {
  local file defined listed
  for file in "$root"/include/trainhook/{graph,model,compat}/ops/impl/*.ipp; do
    defined=$(sed -n 's/^inline constexpr OpDef \(k[A-Za-z0-9]*Op\){.*/\1/p' "$file" | sort)
    listed=$({ grep -o '&k[A-Za-z0-9]*Op\b' "$file" || true; } | tr -d '&' | sort)
    diff <(echo "$defined") <(echo "$listed") || fail "the table of $file differs (< there is such an op, > it is listed)"
  done
}

# What the library cannot be compiled with is refused in one line that says what to do.
test_refused() {
  refuses() {  # <option> <words of the error>
    if "$compiler" -std=c++20 "$1" -I"$root/include" -fsyntax-only -x c++ - <<<'#include <trainhook/trainhook.hpp>' >"$work/said" 2>&1; then fail "$1 is not refused"; fi
    grep -F "fatal error: " "$work/said" | grep -qF "$2" || fail "$1 is refused, but not with '$2': $(cat "$work/said")"
    [ "$(grep -cE '(^|[^a-z])error: ' "$work/said")" = 1 ] || fail "$1 gives more than one error: $(cat "$work/said")"
  }
  refuses -std=c++17 "compile with -std=c++20 or newer"
  refuses -fno-exceptions "compile without -fno-exceptions"
  refuses -fno-rtti "compile without -fno-rtti"
  refuses -DNone=0L "has to be included before Xlib"
  # The other order is fine: what Xlib defines comes after our headers.
  printf '#include <trainhook/trainhook.hpp>\n' >"$work/xlib.cpp"
  printf '#define %s 0\n' None Bool Status Success True False Always Above Below KeyPress FocusIn FocusOut >>"$work/xlib.cpp"
  printf 'trainhook::StopAtStepHook hook({.last_step = 1});\n' >>"$work/xlib.cpp"
  "$compiler" -std=c++20 -DTRAINHOOK_SEPARATE_COMPILATION -I"$root/include" -fsyntax-only "$work/xlib.cpp" || fail "Xlib after trainhook breaks something"
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
  local library
  for library in "$@"; do
    nm --demangle "$library" >"$work/symbols"
    grep -q '\btrainhook_eigen::' "$work/symbols" || fail "$library has no symbols of Eigen under our name"
    if grep '\bEigen::' "$work/symbols" | head -n 5 | grep .; then fail "these symbols of $library have Eigen's own names"; fi
  done
}

# wide_objects <library> <width>...: for each width the library has one object, and the linker can merge nothing of it with other files: it gives one
# symbol, its table of kernels, and no weak one. Nothing in the library has an instruction of a wider vector than its width.
test_wide_objects() {
  local library=$1 width given object
  shift
  [ "$(ar t "$library" | grep -c '^kernels_')" = $# ] || fail "the library has other objects than of these widths: $*"
  cd "$work"
  ar x "$library"
  for width in "$@"; do
    given=$(nm "kernels_$width.o" | awk '$(NF - 1) ~ /^[A-TV-Zuvw]$/ { print $(NF - 1), $NF }')
    [ "$given" = "T trainhook_vector_kernels_$width" ] || fail "kernels_$width.o shows the linker: $(head -n 5 <<<"$given")"
    if readelf --section-groups "kernels_$width.o" | grep -q COMDAT; then fail "kernels_$width.o has groups of sections, which linkers merge"; fi
  done
  local avx512='%zmm|%[xy]mm(1[6-9]|2[0-9]|3[01])|%k[0-7]' avx='%[yz]mm|:\sv[a-z]'
  uses() { objdump -d --no-show-raw-insn "$1" | grep -E "$2" >/dev/null; }
  uses kernels_avx512.o "$avx512" && uses kernels_avx2.o "$avx" || fail "the wide objects do not use their width"
  for object in *.o; do
    case $object in
      kernels_avx512.o) ;;
      kernels_avx2.o) ! uses "$object" "$avx512" || fail "$object needs AVX-512" ;;
      *) ! uses "$object" "$avx" || fail "$object needs AVX" ;;
    esac
  done
}

# older_processors <quickstart> <program>: what is linked with wide kernels runs on emulated processors that lack them, one without AVX and one without
# AVX-512, and uses the widest that is there.
test_older_processors() {
  local cpu width
  printf '#include <immintrin.h>\nint main(int n, char**) { return _mm256_extract_epi32(_mm256_add_epi32(_mm256_set1_epi32(n), _mm256_set1_epi32(-1)), 0); }\n' \
    >"$work/avx2.cpp"
  "$compiler" -mavx2 "$work/avx2.cpp" -o "$work/avx2"
  qemu-x86_64 -cpu Haswell "$work/avx2" || fail "the emulated Haswell has no AVX2"
  if qemu-x86_64 -cpu Nehalem "$work/avx2" 2>"$work/said"; then fail "the emulated Nehalem has AVX2"; fi
  for cpu in Nehalem:sse2 Haswell:avx2; do
    width=${cpu#*:} cpu=${cpu%:*}
    mkdir "$work/$cpu"
    cd "$work/$cpu"
    qemu-x86_64 -cpu "$cpu" "$2" >said 2>&1 || fail "$2 fails on a $cpu: $(tail -n 5 said)"
    grep -qx "kernel_width: \"$width\"" line/run.pbtxt || fail "a $cpu uses other kernels than $width: $(cat line/run.pbtxt)"
  done
  cd "$work/Nehalem"  # the emulator takes a minute for it on the other
  qemu-x86_64 -cpu Nehalem "$1" --data synthetic --steps 3 --model-dir run >said 2>&1 || fail "$1 fails on a Nehalem: $(tail -n 5 said)"
}

# kernels_at_each_width <engine_test with narrower kernels>...: the tests of kernels pass with the widths that this processor would not choose.
test_kernels_at_each_width() {
  local program
  for program in "$@"; do
    "$program" --gtest_brief=1 --gtest_filter='*Kernel*:Blocks*:-KernelWidth.*' >"$work/said" 2>&1 || fail "$program: $(tail -n 20 "$work/said")"
    grep -q '^\[  PASSED  \] [1-9][0-9][0-9]' "$work/said" || fail "$program runs hardly a test: $(tail -n 5 "$work/said")"
  done
}

# What sees Eigen compiles without a warning for a user whose own options bring AVX-512, which takes no such processor. Kernels that there are for each
# width are compiled so by the build itself. With -O1 g++ finds as much as with -O3, in two thirds of the time.
test_quiet_with_avx512() {
  local list
  for list in engine/impl/src_1 engine/kernels/impl/src_{1,2} compat/kernels/impl/src; do
    echo "#include <trainhook/$list.hpp>" >"$work/list.cpp"
    "$compiler" -std=c++20 -O1 -Wall -Wextra -Werror -march=x86-64-v4 -DTRAINHOOK_SEPARATE_COMPILATION -I"$root/include" -isystem /usr/include/eigen3 \
      -c "$work/list.cpp" -o "$work/list.o" || fail "$list has warnings"
  done
}

# without_media <library>...: the engine is built without libpng and zlib, and then says what an image summary lacks.
test_without_media() {
  local flags=(-std=c++20 -DTRAINHOOK_SEPARATE_COMPILATION -I"$root/include")
  printf '#include <trainhook/%s.hpp>\n' engine/impl/src_1 engine/kernels/impl/src_2 >"$work/engine.cpp"  # one source file of the library
  "$compiler" "${flags[@]}" -DTRAINHOOK_WITHOUT_MEDIA -DEigen=trainhook_eigen -isystem /usr/include/eigen3 -c "$work/engine.cpp" -o "$work/engine.o"
  "$compiler" "${flags[@]}" "$here/image_summary.cpp" "$work/engine.o" "$@" -lfmt -pthread -o "$work/program"
  "$work/program" >"$work/said" || fail "the program failed"
  grep -qx "ImageSummary (node '.*') needs libpng and zlib, and the engine was built without them. .*" "$work/said" || fail "it says: $(cat "$work/said")"
}

# same_bits <number of checkpoints> <program> <program>: both modes print the same, and write the same checkpoints and graphs. (State files hold
# times.) On x86-64 an emulated processor runs both, one with a single width of vectors: a compiled library would choose a wider one.
test_same_bits() {
  local compared=0 checkpoints=$1 file mode emulator=""
  if [ "$(uname -m)" = x86_64 ]; then emulator="qemu-x86_64 -cpu Nehalem"; fi
  shift
  for mode in 1 2; do
    mkdir "$work/$mode"
    (cd "$work/$mode" && $emulator "$1" >printed) || fail "$1 failed"
    shift
  done
  cat "$work/1/printed"
  cd "$work/1"
  for file in printed */model.ckpt-* */graph.pbtxt; do
    cmp "$file" "../2/$file" || fail "$file depends on the mode"
    compared=$((compared + 1))
  done
  [ "$(find . -name 'model.ckpt-*.index' | wc -l)" = "$checkpoints" ] || fail "these are not the expected checkpoints: $(ls -- *)"
  echo "$name: $compared files are the same"
}

# forgotten <library>: a program that lacks the target of a module does not link, and the linker's message names what is of the module.
test_forgotten() {
  local missing
  printf '#include <trainhook/testing/manual_clock.hpp>\nint main() { trainhook::testing::ManualClock().auto_advance(true); }\n' >"$work/testing.cpp"
  printf '#include <trainhook/estimator/estimator.hpp>\nint main() { (void)trainhook::Estimator({}, {}, {}).latest_checkpoint(); }\n' >"$work/Estimator.cpp"
  printf '#include <trainhook/model/ops/math.hpp>\nint main() { trainhook::square({}); }\n' >"$work/square.cpp"
  printf '#include <trainhook/compat/import_graph_def.hpp>\nint main() { trainhook::Graph graph; import_graph_def(graph, {}); }\n' >"$work/import_graph_def.cpp"
  printf '#include <trainhook/exchange/npy.hpp>\nint main() { trainhook::write_npy("a.npy", 1.0F); }\n' >"$work/write_npy.cpp"
  printf '#include <trainhook/data/dataset.hpp>\nint main() { (void)trainhook::Dataset::range(3); }\n' >"$work/Dataset.cpp"
  for missing in testing Estimator square import_graph_def write_npy Dataset; do
    "$compiler" -std=c++20 -DTRAINHOOK_SEPARATE_COMPILATION -I"$root/include" -c "$work/$missing.cpp" -o "$work/$missing.o"
    if "$compiler" -o "$work/program" "$work/$missing.o" "$1" -lfmt -pthread 2>"$work/said"; then fail "a program links without the library of $missing"; fi
    grep -qE "undefined reference to .trainhook::$missing(::|[(])" "$work/said" || fail "the linker does not name $missing: $(cat "$work/said")"
  done
}

# never_destroyed <library>...: nothing of the library's own is destroyed when the process ends, since a session of namespace scope may end after it.
# (What <iostream> has, which Random123 includes, is the standard library's.)
test_never_destroyed() {
  local library
  for library in "$@"; do
    objdump -r "$library" | awk '
      /file format/ { object = $1 }
      /__cxa_atexit/ { ++destroyed[object] }
      /ios_base4InitD1Ev/ { --destroyed[object] }
      END { for (object in destroyed) if (destroyed[object] > 0) print object destroyed[object] " objects" }' >"$work/said"
    [ ! -s "$work/said" ] || fail "destructors of objects of static storage in $library: $(cat "$work/said")"
  done
}

# own_state <library>...: a static variable of the library's is its own. If its function is inline, the dynamic linker makes one variable of those of a
# program and of a plugin, each of which has the library in itself. The two that are listed are what a process has once.
test_own_state() {
  nm -C "$@" | sed -nE 's/^[0-9a-f]+ u (trainhook::.*[)]::[a-z_]+)$/\1/p' | sort -u | grep -vxE '.*(HeldLocks::instance|system_clock)[(][)]::[a-z]+' >"$work/said" || true
  [ ! -s "$work/said" ] || fail "static variables that a program and a plugin share: $(cat "$work/said")"
}

# functions <object>: what a user's file gets in header-only mode, optimised, does not grow unnoticed. Parts of functions that g++ made are not counted.
test_functions() {
  local most=1530 count
  count=$(nm --defined-only "$1" | grep ' [TtWw] ' | grep -cvE '[.](part|isra|cold|constprop)')
  echo "$name: $count, at most $most"
  [ "$count" -le "$most" ] || fail "your_loop.cpp has $count functions"
}

# one_program <object>...: header-only files make one program, whatever each of them uses.
test_one_program() {
  local object objects=() count=0
  for object in "$@"; do
    count=$((count + 1))
    objcopy --redefine-sym main="main_$count" "$object" "$work/$count.o"
    objects+=("$work/$count.o")
  done
  echo 'extern "C" int main_1(); int main() { return main_1(); }' >"$work/main.cpp"
  "$compiler" -o "$work/program" "$work/main.cpp" "${objects[@]}" -lfmt -lpng -lz -pthread || fail "the files do not make a program"
  (cd "$work" && ./program) || fail "the program failed"
}

declare -F "test_$name" >/dev/null || fail "there is no such test"
"test_$name" "$@"
