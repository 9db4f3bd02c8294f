#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The rules that keep the house in order, one function each. check.sh list | check.sh <name> <root of the source> <compiler>
# A check prints one line for every violation and fails if there is one.
set -euo pipefail
export LC_ALL=C

# The line: a header includes its own folder and those before it. The wings: each may use the whole line; of each other, what is said here.
line="core io events graph graph_def session data loop checkpoint hooks monitored"
wings="engine media testing"
wing_uses="engine>media"
longest=350

checks="folder_order include_style includes_what_it_names no_cycles no_macros no_using_namespace first_lines length names tests_mirror_headers
  forbidden_includes umbrella cost_of_including custom_loop_without_eigen"

headers() { (cd "$root/include/trainhook" && find . -name '*.hpp' | sed 's|^\./||' | sort); }
sources() { (cd "$root" && find include tests examples -type f \( -name '*.hpp' -o -name '*.cpp' \) | sort); }
failures=0
violation() { echo "$check: $*"; failures=$((failures + 1)); }

# Lines "<header> <header it includes>", paths below include/trainhook.
include_edges() {
  (cd "$root/include/trainhook" && find . -name '*.hpp' -exec awk '
    match($0, /^[ \t]*#[ \t]*include[ \t]*<trainhook\//) {
      included = substr($0, RSTART + RLENGTH); sub(/>.*/, "", included)
      file = FILENAME; sub(/^\.\//, "", file); print file, included }' {} +)
}

check_folder_order() {  # a folder sees itself and what comes before it; wings are seen by nobody
  while read -r from to; do violation "include/trainhook/$from includes $to, which its folder may not know"; done < <(
    include_edges | awk -v line="$line" -v wings="$wings" -v uses="$wing_uses" '
      BEGIN {
        n = split(line, l, " "); for (i = 1; i <= n; ++i) place[l[i]] = i
        m = split(wings, w, " "); for (i = 1; i <= m; ++i) wing[w[i]] = 1
        k = split(uses, u, " "); for (i = 1; i <= k; ++i) allowed[u[i]] = 1
      }
      {
        from = $1; to = $2; sub(/\/.*/, "", from); sub(/\/.*/, "", to)
        if ($1 == "trainhook.hpp") ok = (to in place)
        else if (from == to) ok = 1
        else if ((from ">" to) in allowed) ok = 1
        else if (from in wing) ok = (to in place)
        else ok = (from in place) && (to in place) && place[to] < place[from]
        if (!ok) print
      }')
  for folder in $(headers | sed -n 's|/.*||p' | sort -u); do
    case " $line $wings " in *" $folder "*) ;; *) violation "include/trainhook/$folder has no place in the order of folders" ;; esac
  done
}

check_include_style() {  # <trainhook/...>, of a file that exists; ours are never reached another way
  while IFS=: read -r file number text; do violation "$file:$number: $text"; done < <(
    cd "$root" && grep -rnE '#[[:space:]]*include[[:space:]]*("|<[^>]*(_impl\.hpp|-inl\.h)>)' include --include=*.hpp || true)
  while read -r from to; do
    [ -f "$root/include/trainhook/$to" ] || violation "include/trainhook/$from includes $to, which does not exist"
  done < <(include_edges)
}

check_includes_what_it_names() {  # a header that names std::vector has <vector>, by itself or by a header of ours that it includes
  while read -r found; do violation "include/trainhook/$found"; done < <(
    cd "$root/include/trainhook" && find . -name '*.hpp' -exec awk '
      BEGIN {
        n = split("algorithm:ranges::(sort|copy|find|any_of|all_of|none_of|equal|fill|transform|max_element|min_element)|std::(sort|stable_sort|copy|copy_n|fill_n|fill|find|find_if|transform|clamp|lower_bound|upper_bound|min_element|max_element|reverse|rotate) " \
          "array:std::array atomic:std::atomic bit:std::(bit_cast|countl_zero|popcount|has_single_bit|endian) charconv:std::(to_chars|from_chars) " \
          "chrono:std::chrono complex:std::complex concepts:std::(same_as|convertible_to|derived_from|invocable|floating_point|integral[^_]) " \
          "condition_variable:std::condition_variable cstdint:std::u?int(8|16|32|64)_t cstdio:std::(fprintf|fwrite|snprintf|fflush) " \
          "cstring:std::(memcpy|memcmp|memset|memmove|strlen) deque:std::deque exception:std::(exception_ptr|current_exception|rethrow_exception|make_exception_ptr|uncaught_exceptions) " \
          "filesystem:std::filesystem functional:std::(function|hash|less)[<(] future:std::(future|promise|async) initializer_list:std::initializer_list " \
          "limits:std::numeric_limits list:std::list map:std::(multi)?map memory:std::(unique_ptr|shared_ptr|weak_ptr|make_unique|make_shared|enable_shared_from_this) " \
          "mutex:std::(mutex|scoped_lock|unique_lock|lock_guard|once_flag|call_once) numeric:std::(accumulate|iota|reduce|inner_product) optional:std::(optional|nullopt) " \
          "random:std::(mt19937|mt19937_64|random_device|uniform_int_distribution) set:std::(multi)?set span:std::(span|as_bytes) sstream:std::(i|o)?stringstream " \
          "stdexcept:std::(runtime_error|logic_error|invalid_argument|out_of_range) string:std::(string[^_s]|to_string) string_view:std::string_view thread:std::(jthread|thread|this_thread) " \
          "tuple:std::(tuple|tie|apply) typeinfo:typeid unordered_map:std::unordered_map unordered_set:std::unordered_set variant:std::(variant|visit|monostate) vector:std::vector", word, " ")
        for (i = 1; i <= n; ++i) { at = index(word[i], ":"); header[i] = substr(word[i], 1, at - 1); pattern[i] = substr(word[i], at + 1) }
      }
      FNR == 1 { file = FILENAME; sub(/^\.\//, "", file); files[file] = 1 }
      match($0, /^[ \t]*#[ \t]*include[ \t]*</) {
        included = substr($0, RSTART + RLENGTH); sub(/>.*/, "", included)
        if (sub(/^trainhook\//, "", included)) below[file] = below[file] " " included; else has[file " " included] = 1
        next
      }
      {
        sub(/\/\/.*/, ""); gsub(/"([^"\\]|\\.)*"/, "")
        for (i = 1; i <= n; ++i) if (!((file " " header[i]) in names) && $0 " " ~ pattern[i]) names[file " " header[i]] = FNR
      }
      function finds(file, wanted,    k, i, next_ones) {
        if (file in seen) return 0
        seen[file] = 1
        if ((file " " wanted) in has) return 1
        k = split(below[file], next_ones, " ")
        for (i = 1; i <= k; ++i) if (finds(next_ones[i], wanted)) return 1
        return 0
      }
      END {
        for (use in names) {
          split(use, part, " "); split("", seen)
          if (!finds(part[1], part[2])) print part[1] ":" names[use] ": uses <" part[2] "> without including it"
        }
      }' {} + | sort)
}

check_no_cycles() {  # peel off headers that include nothing any more; what stays is a cycle
  while read -r file; do violation "include/trainhook/$file is part of an include cycle"; done < <(
    include_edges | awk '
      { edge[$1 " " $2] = 1; node[$1] = 1; node[$2] = 1 }
      END {
        do {
          peeled = 0; split("", busy)
          for (e in edge) { split(e, part, " "); busy[part[1]] = 1 }
          for (e in edge) { split(e, part, " "); if (!(part[2] in busy)) { delete edge[e]; peeled = 1 } }
        } while (peeled)
        for (e in edge) { split(e, part, " "); print part[1] }
      }' | sort -u)
}

check_no_macros() {
  while read -r found; do violation "$found"; done < <(
    cd "$root" && grep -rnE '^[[:space:]]*#[[:space:]]*(define|undef)' include --include=*.hpp || true)
}

check_no_using_namespace() {  # at global scope, where it would reach whoever includes the header
  while read -r found; do violation "$found"; done < <(
    cd "$root" && find include -name '*.hpp' -exec awk '
      FNR == 1 { depth = 0 }
      /^(inline )?namespace .*\{$/ { ++depth }
      /^\}/ { if (depth > 0 && /namespace/) --depth }
      /^using namespace/ && depth == 0 { print FILENAME ":" FNR ": " $0 }' {} +)
}

check_first_lines() {  # the licence; then, in what others include, what the file is for
  while read -r file; do
    [ "$(sed -n 1p "$root/$file")" = "// SPDX-License-Identifier: Apache-2.0" ] || violation "$file: the first line is not the SPDX line"
    case $file in *.cpp) continue ;; esac
    [ "$(sed -n 2p "$root/$file")" = "/// @file" ] || violation "$file: the second line is not '/// @file'"
    sed -n 3p "$root/$file" | grep -qE '^/// .+' || violation "$file: the third line does not say what the file is for"
    grep -qx '#pragma once' "$root/$file" || violation "$file: has no '#pragma once'"
  done < <(sources)
}

check_length() {
  while read -r file; do
    lines=$(wc -l <"$root/include/trainhook/$file")
    [ "$lines" -le $longest ] || violation "include/trainhook/$file has $lines lines, more than $longest"
  done < <(headers)
}

check_names() {  # snake_case, and a name that says what is inside
  while read -r path; do
    file=${path##*/}
    [[ $file =~ ^[a-z][a-z0-9_]*\.(hpp|cpp)$ ]] || violation "$path: not snake_case"
    case $path in */detail/* | */internal/* | */impl/*) violation "$path: lies in a folder that says nothing" ;; esac
    case ${file%.*} in
      util | utils | *_util | *_utils | utility | utilities | common | *_common | misc | helper | helpers | *_helper | *_helpers | stuff | \
        impl | *_impl | internal | internals | detail | details | defs | types | functions | things | base | tools | extra | new | temp | tmp)
        violation "$path: a vague name" ;;
    esac
  done < <(sources)
}

check_tests_mirror_headers() {  # tests/io/crc32c_test.cpp tests io/crc32c.hpp; x_more_words_test.cpp may add to x_test.cpp
  while read -r path; do
    subject=${path%_test.cpp}
    name=${subject##*/}
    while [ ! -f "$root/include/trainhook/${subject%/*}/$name.hpp" ]; do
      case $name in *_*) name=${name%_*} ;; *) name=""; break ;; esac
    done
    if [ -z "$name" ]; then
      violation "tests/$path mirrors no header of include/trainhook/${path%/*}"
    elif ! grep -m1 '#include' "$root/tests/$path" | grep -qF "<trainhook/${path%/*}/$name.hpp>"; then
      violation "tests/$path: the first include is not <trainhook/${path%/*}/$name.hpp>"
    fi
  done < <(cd "$root/tests" && find . -mindepth 2 -name '*_test.cpp' | sed 's|^\./||' | sort)
}

# Everything that including all headers of the given folders brings in, one path a line, as the compiler finds it.
brought_in_by() {
  local folder
  for folder in "$@"; do headers | grep "^$folder/" | sed 's|.*|#include <trainhook/&>|' || true; done >"$scratch/all.cpp"
  "$compiler" -std=c++20 -I"$root/include" -isystem /usr/include/eigen3 -M "$scratch/all.cpp" | tr ' \\' '\n\n' | sed '/^$/d'
}

# forbid <what> <pattern of paths> <pattern of include lines> <folders>
forbid() {
  local what=$1 path=$2 text=$3
  shift 3
  brought_in_by "$@" >"$scratch/brought_in"
  if grep -qE "$path" "$scratch/brought_in"; then
    violation "$what is reached from $*; among all headers it is included by: $(cd "$root" && grep -rlE "#include <$text" include | tr '\n' ' ')"
  fi
}

check_forbidden_includes() {
  local others
  others="$line testing"
  # shellcheck disable=SC2086  # lists of words
  {
    forbid Eigen '/Eigen/' 'Eigen/' $others media
    forbid 'libpng or zlib' '/(png|pngconf|zlib)\.h$' '(png|zlib)\.h' $others
  }
  # Eigen and Random123 bring <iostream> themselves, and fmt is no dependency, so here our own lines are looked at.
  while read -r found; do violation "$found"; done < <(
    cd "$root" && grep -rnE '#include <(iostream|regex|fmt/.*)>' include || true)
  while read -r found; do violation "$found"; done < <(
    cd "$root" && grep -rnE '#include <(png\.h|zlib\.h)>' include/trainhook/engine || true)
}

check_umbrella() {  # trainhook.hpp brings the whole line
  printf '#include <trainhook/trainhook.hpp>\n' >"$scratch/all.cpp"
  "$compiler" -std=c++20 -I"$root/include" -M "$scratch/all.cpp" | tr ' \\' '\n\n' | sed -n "s|^$root/include/trainhook/||p" | sort -u >"$scratch/brought_in"
  while read -r file; do
    case " $line " in *" ${file%%/*} "*) ;; *) continue ;; esac
    grep -qxF "$file" "$scratch/brought_in" || violation "trainhook.hpp does not bring $file"
  done < <(headers)
}

check_cost_of_including() {  # kilobytes after preprocessing, the measure of compile time that does not depend on the machine
  while read -r file most; do
    case $file in '#'* | '') continue ;; esac
    if [ ! -f "$root/include/trainhook/$file" ]; then
      violation "$file is listed in costs.txt and does not exist"
      continue
    fi
    printf '#include <trainhook/%s>\n' "$file" >"$scratch/all.cpp"
    cost=$(($("$compiler" -std=c++20 -I"$root/include" -isystem /usr/include/eigen3 -E -P "$scratch/all.cpp" | wc -c) / 1024))
    echo "$check: $file costs $cost of $most kB"
    [ "$cost" -le "$most" ] || violation "$file brings in $cost kB of source, more than $most"
  done <"$root/tests/architecture/costs.txt"
}

check_custom_loop_without_eigen() {
  "$compiler" -std=c++20 -I"$root/include" -isystem /usr/include/eigen3 -M "$root/examples/custom_loop.cpp" | tr ' \\' '\n\n' >"$scratch/brought_in"
  if grep -q '/Eigen/' "$scratch/brought_in"; then violation "examples/custom_loop.cpp reaches Eigen"; fi
}

check=$1
if [ "$check" = list ]; then
  # shellcheck disable=SC2086  # a list of words
  printf '%s\n' $checks
  exit 0
fi
root=$(cd "$2" && pwd)
compiler=$3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"check_$check"
[ "$failures" = 0 ]
