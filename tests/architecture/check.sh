#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Rules about the source that no other tool checks, one function each. check.sh list | check.sh <name> <root of the source> <compiler>
# A check prints one line for every violation and fails if there is one. check.sh count <root of the source> prints what ceilings.txt limits.
set -euo pipefail
export LC_ALL=C

# The core library: a header includes its own folder and those before it. The optional modules: each may use the whole core
# library, and of the other modules what uses lists.
core_library="core proto io events graph session loop checkpoint hooks monitored"
optional_modules="data model ranks media compat engine estimator compat_kernels mpi torch exchange watch testing"
uses="model>data media>data engine>data engine>model engine>media compat>data compat>model estimator>data estimator>model estimator>compat compat_kernels>compat compat_kernels>model compat_kernels>engine mpi>data mpi>model mpi>ranks"
longest=450

checks="folder_order include_style no_cycles no_macros macro_on_declarations templates_have_their_name_alone first_lines
  length names tests_mirror_headers forbidden_includes one_place ceilings cost_of_including custom_loop_without_eigen"

headers() { (cd "$root/include/trainhook" && find . -name '*.hpp' ! -path '*/impl/*' | sed 's|^\./||' | sort); }
sources() { (cd "$root" && find include tests examples -type f \( -name '*.hpp' -o -name '*.ipp' -o -name '*.cpp' \) | sort); }
failures=0
violation() { echo "$check: $*"; failures=$((failures + 1)); }

# Lines "<header> <header it includes>", paths below include/trainhook. A header and its .ipp files count as one; lists of
# .ipp files (impl/src*.hpp) do not count.
include_edges() {
  (cd "$root/include/trainhook" && find . -name '*.hpp' ! -name "src*.hpp" -exec grep -H '^#include <trainhook/.*[.]ipp>' {} + |
    sed -E 's|^[.]/(.*):#include <trainhook/(.*)>|\2 \1|' >"$scratch/owners" || true
  find . \( -name '*.hpp' -o -name '*.ipp' \) ! -name "src*.hpp" -exec awk '
    BEGIN { while ((getline line < "'"$scratch/owners"'") > 0) { split(line, part, " "); owner[part[1]] = part[2] } }
    function node(file) {
      sub(/^\.\//, "", file)
      if (file in owner) return owner[file]
      sub(/impl\//, "", file); sub(/\.ipp$/, ".hpp", file)
      return file
    }
    match($0, /^[ \t]*#[ \t]*include[ \t]*<trainhook\//) {
      included = substr($0, RSTART + RLENGTH); sub(/>.*/, "", included)
      if (node(FILENAME) != node(included)) print node(FILENAME), node(included) }' {} +)
}

# For awk: whether something of the folder from may know something of the folder to.
may_know='
  BEGIN {
    n = split(library, l, " "); for (i = 1; i <= n; ++i) place[l[i]] = i
    m = split(modules, o, " "); for (i = 1; i <= m; ++i) optional[o[i]] = 1
    k = split(uses, u, " "); for (i = 1; i <= k; ++i) allowed[u[i]] = 1
  }
  function module_of(path) {  # a folder, but for the kernels of compat/, which are a module of their own
    if (path ~ /^compat\/kernels[.\/]/) return "compat_kernels"
    if (path != "trainhook.hpp") sub(/\.hpp$/, "", path)  # the umbrella of a module sees what the module sees
    sub(/\/.*/, "", path)
    return path
  }
  function may_know(from, to) {
    if (from == "trainhook.hpp") return to in place
    if (from == to || (from ">" to) in allowed) return 1
    if (from in optional) return to in place
    return (from in place) && (to in place) && place[to] < place[from]
  }
'
with_order() { awk -v library="$core_library" -v modules="$optional_modules" -v uses="$uses" "$may_know$1"; }

# The types of namespaces in the given files, "<defined or declared> <file> <namespace> <name>" a line. A specialization is none.
types_of() {
  xargs -r awk '
    FNR == 1 { depth = levels = 0; file = FILENAME; sub(/^\.\//, "", file); sub(/.*\/trainhook\//, "", file) }
    { code = $0; gsub(/\\./, "", code); gsub(/\047[{}"]\047/, "", code); gsub(/"[^"]*"/, "", code); sub(/\/\/.*/, "", code) }
    depth == levels && code ~ /^(class|struct|enum|enum class) [A-Za-z0-9_:]+/ && code !~ /^(class|struct) [A-Za-z0-9_:]+</ {
      name = code; sub(/^(enum class|class|struct|enum) /, "", name); sub(/[^A-Za-z0-9_:].*/, "", name)
      space = ""; for (i = 1; i <= levels; ++i) space = space "::" within[i]
      print (code ~ /^[^{]*;/ ? "declared" : "defined"), file, space == "" ? "::" : space, name
    }
    {
      begins = depth == levels && code ~ /^(inline )?namespace .*[{]$/
      if (begins) { sub(/^(inline )?namespace /, "", code); sub(/ *[{]$/, "", code); within[++levels] = code; ++depth; next }
      opened = gsub(/[{]/, "", code); depth += opened - gsub(/[}]/, "", code)
      if (levels > depth) levels = depth
    }'
}

# "<header> <type>" a line: what a header of the core declares of a folder that it may not include. A type defined in several folders is of each.
declared_upward() {
  (cd "$root/include/trainhook" && find . -name '*.hpp' -o -name '*.ipp' | sort | types_of) | with_order '
    { type = $3 "::" $4 }
    $1 == "defined" { homes[type] = homes[type] " " module_of($2) }
    $1 == "declared" && $2 ~ /\// && module_of($2) in place { declares[$2 " " $4 " " type] }
    END {
      for (d in declares) {
        split(d, part, " "); m = split(homes[part[3]], home, " "); ok = m == 0
        for (i = 1; i <= m; ++i) if (may_know(module_of(part[1]), home[i])) ok = 1
        if (!ok) print part[1], part[2]
      }
    }' | sort -u
}

check_folder_order() {  # a folder sees itself and what comes before it; optional modules are seen by nobody
  while read -r from to; do violation "include/trainhook/$from includes $to, which its folder may not know"; done < <(
    include_edges | with_order '
      {
        if (!may_know(module_of($1), module_of($2))) print
      }')
  awk '$1 == "debt" { print $2, $3 }' "$root/tests/architecture/ceilings.txt" | sort >"$scratch/debts"
  declared_upward >"$scratch/declared"
  while read -r from type; do violation "include/trainhook/$from declares $type, which its folder may not know"; done < <(
    comm -13 "$scratch/debts" "$scratch/declared")
  while read -r from type; do violation "include/trainhook/$from does not declare $type of a later folder any more: the debt in ceilings.txt goes"; done < <(
    comm -23 "$scratch/debts" "$scratch/declared")
  for folder in $(headers | sed -n 's|/.*||p' | sort -u); do
    case " $core_library $optional_modules " in *" $folder "*) ;; *) violation "include/trainhook/$folder has no place in the order of folders" ;; esac
  done
}

check_include_style() {  # <trainhook/...>, of a file that exists; ours are never reached another way; bodies include their header first
  while IFS=: read -r file number text; do violation "$file:$number: $text"; done < <(
    cd "$root" && grep -rnE '#[[:space:]]*include[[:space:]]*("|<[^>]*(_impl\.hpp|-inl\.h)>)' include --include=*.[hi]pp || true)
  while read -r from to; do
    [ -f "$root/include/trainhook/$to" ] || violation "include/trainhook/$from includes $to, which does not exist"
  done < <(include_edges)
  while read -r file first; do  # a body stands on what its header brings
    [ "$first" = "$(sed 's|impl/||; s|[.]ipp$|.hpp|' <<<"$file")" ] || grep -qsF "#include <$file>" "$root/include/$first" ||
      violation "include/$file includes <$first> first, not the header that declares its functions"
  done < <(cd "$root/include" && find trainhook -name '*.ipp' -exec awk -F '[<>]' '/^#include/ { print FILENAME, $2; nextfile }' {} +)
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
    cd "$root" && grep -rnE '^[[:space:]]*#[[:space:]]*(define|undef)' include --include=*.[hi]pp | grep -vE '# ?define TRAINHOOK_(DECL|MISTAKE|REFUSED)' || true)
}

check_macro_on_declarations() {  # what a header declares inline is inline; what only bodies know says inline itself
  while read -r found; do violation "$found: TRAINHOOK_DECL is for declarations in headers"; done < <(
    cd "$root" && { grep -rn 'TRAINHOOK_DECL' include --include=*.ipp; grep -rnE 'TRAINHOOK_DECL .*[{]$' include --include=*.hpp; } || true)
}

# In one file of a program, a template that takes anything is better than a function that was meant.
check_templates_have_their_name_alone() {  # of the core: no other header or body has a function of that name
  while read -r name place other; do violation "$place: the function template $name has the name of a function of $other"; done < <(
    cd "$root/include/trainhook" && find $core_library \( -name '*.hpp' -o -name '*.ipp' \) ! -name 'src*.hpp' | sort | xargs awk '
      { sub(/decltype\(auto\)/, "auto") }
      /^(class|struct|using|namespace|enum|#|\/|\}| |$)/ { if ($0 !~ /^  requires/) is_template = 0; next }
      /^template/ { is_template = 1; next }
      match($0, /[ &*>][a-z][a-z_0-9]*\(/) && $0 !~ /operator/ {
        name = substr($0, RSTART + 1, RLENGTH - 2)
        place = FILENAME; sub(/impl\//, "", place); sub(/\.[hi]pp$/, "", place)
        if (substr($0, 1, RSTART) !~ /[=(]/) {
          if (is_template) template[name] = place
          places[name] = places[name] " " place
        }
        is_template = 0
      }
      END {
        for (name in template) {
          n = split(places[name], all, " ")
          for (i = 1; i <= n; ++i) if (all[i] != template[name]) { print name, template[name], all[i]; break }
        }
      }')
}

check_first_lines() {  # the licence; then, in what others include, what the file is for
  while read -r found; do violation "$found"; done < <(
    cd "$root" && sources | xargs awk '
      function leave() {
        if (header && lines < 3) print file ": the third line does not say what the file is for"
        if (header && !once) print file ": has no \"#pragma once\""
      }
      FNR == 1 {
        leave()
        file = FILENAME; header = file !~ /\.cpp$/; once = 0
        if ($0 != "// SPDX-License-Identifier: Apache-2.0") print file ": the first line is not the SPDX line"
      }
      FNR == 2 && FILENAME ~ /\.ipp$/ && $0 == "#pragma once" { header = 0; once = 1 }  # bodies of the header of that name
      FNR == 2 && header && $0 != "/// @file" { print file ": the second line is not \"/// @file\"" }
      FNR == 3 && header && $0 !~ /^\/\/\/ ./ { print file ": the third line does not say what the file is for" }
      $0 == "#pragma once" { once = 1 }
      { lines = FNR }
      END { leave() }')
}

check_length() {
  while read -r lines file; do
    [ "$file" = total ] || [ "$lines" -le $longest ] || violation "include/trainhook/$file has $lines lines, more than $longest"
  done < <(cd "$root/include/trainhook" && find . \( -name '*.hpp' -o -name '*.ipp' \) -exec wc -l {} + | sed 's|\./||' | sort -k 2)
}

check_names() {  # snake_case, and a name that says what is inside
  while read -r path; do
    file=${path##*/}
    [[ $path != examples/gallery/* ]] || file=${file#[0-9][0-9]_}  # numbered in reading order
    [[ $file =~ ^[a-z][a-z0-9_]*\.(hpp|ipp|cpp)$ ]] || violation "$path: not snake_case"
    case $path in */detail/* | */internal/*) violation "$path: lies in a folder that says nothing" ;; esac
    case ${file%.*} in
      util | utils | *_util | *_utils | utility | utilities | common | *_common | misc | helper | helpers | *_helper | *_helpers | stuff | \
        impl | *_impl | internal | internals | detail | details | defs | types | functions | things | base | tools | extra | new | temp | tmp)
        violation "$path: a vague name" ;;
    esac
  done < <(sources)
}

# tests/io/crc32c_test.cpp tests io/crc32c.hpp or its .ipp, and so does tests/with_engine/io/crc32c_test.cpp; x_more_words_test.cpp may add to x_test.cpp
check_tests_mirror_headers() {
  local file folder header
  while read -r file; do
    path=${file#with_engine/}
    folder=$root/include/trainhook/${path%/*}
    name=${path##*/}
    name=${name%_test.cpp}
    while [ ! -f "$folder/$name.hpp" ] && [ ! -f "$folder/impl/$name.ipp" ]; do
      case $name in *_*) name=${name%_*} ;; *) name=""; break ;; esac
    done
    header=trainhook/${path%/*}/$name.hpp
    [ -n "$name" ] || [ "$path" != "${path%/*}/${path%/*}_test.cpp" ] || { name=${path%/*} header=trainhook/$name.hpp; }  # of an umbrella
    [ ! -f "$folder/impl/$name.ipp" ] || [ -f "$folder/$name.hpp" ] || header=$(sed -n 's|^#include <\(.*\)>|\1|p' "$folder/impl/$name.ipp" | head -n 1)
    if [ -z "$name" ]; then
      violation "tests/$file mirrors no header and no .ipp of include/trainhook/${path%/*}"
    elif ! grep -m1 '#include' "$root/tests/$file" | grep -F "<$header>" >/dev/null; then
      violation "tests/$file: the first include is not <$header>"
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
  others="$core_library estimator testing"
  # shellcheck disable=SC2086  # lists of words
  {
    forbid Eigen '/Eigen/' 'Eigen/' $others media
    forbid 'libpng or zlib' '/(png|pngconf|zlib)\.h$' '(png|zlib)\.h' $others
  }
  # Eigen and Random123 bring <iostream> themselves, so here our own lines are looked at.
  while read -r found; do violation "$found"; done < <(
    cd "$root" && grep -rnE '#include <(iostream|regex)>' include || true)
  # <fmt/core.h> declares as much as headers need, up to fmt 11 also fmt::format, which bodies have from <fmt/format.h>. core/format.hpp knows of fmt 12.
  local formats='\bfmt::(format|vformat|format_to|format_to_n|formatted_size|to_string|join|memory_buffer)\b'
  while read -r found; do violation "$found; headers include <fmt/core.h>, bodies <fmt/format.h>"; done < <(
    cd "$root" && { grep -rnE '#include <fmt/' include --include=*.hpp | grep -vE '<fmt/core.h>|/core/format.hpp:'
      grep -rnE '#include <fmt/' include --include=*.ipp | grep -v '<fmt/format.h>'
      grep -rlE "$formats" include --include=*.ipp | xargs -r grep -L '#include <fmt/format.h>'; } || true)
  while read -r found; do violation "$found: fmt::join is in <fmt/ranges.h>"; done < <(
    cd "$root" && grep -rlE 'fmt::join' examples tests --include=*.[hc]pp | xargs -r grep -L '#include <fmt/ranges.h>' || true)
  while read -r found; do violation "$found; <fmt/core.h> of fmt 12 does not declare it"; done < <(
    cd "$root" && grep -rnE "$formats" include --include=*.hpp | grep -v '///' || true)
  while read -r found; do violation "$found: in a header; it belongs into the .ipp file"; done < <(
    cd "$root" && grep -rnE '#include <(Random123|protozero|Eigen|unsupported)/' include --include=*.hpp | grep -vE '/(engine|proto)/' || true)
  while read -r found; do violation "$found"; done < <(
    cd "$root" && grep -rnE '#include <(png\.h|zlib\.h)>' include/trainhook/engine || true)
  while read -r found; do violation "$found"; done < <(
    cd "$root" && grep -rnE '#include <mpi\.h>' include | grep -v '^include/trainhook/mpi/' || true)
  while read -r found; do violation "$found"; done < <(
    cd "$root" && grep -rnE '#include <(torch|ATen|c10)/' include | grep -v '^include/trainhook/torch/' || true)
  while read -r found; do violation "$found"; done < <(  # thousands of lines, which no header brings to a user's file in the compiled library
    cd "$root" && grep -rnE '#include <nlohmann/' include | grep -v '^include/trainhook/exchange/impl/[a-z_]*[.]ipp:' || true)
}

check_one_place() {  # what can fail on a real machine is done where the failure has a name
  while read -r found; do violation "$found: threads are started by core/thread.hpp alone"; done < <(
    cd "$root" && grep -rnE '\bstd::(j?thread|async)\b|pthread_create' include --include=*.[hi]pp | grep -vE '^include/trainhook/core/impl/thread[.]ipp|//' || true)
}

# The public types of a folder of the library: what is defined in a namespace other than detail, one "<file> <name>" a line.
public_types() {
  find "$1" -name '*.hpp' ! -path '*/impl/*' | sort | types_of | awk '$1 == "defined" && $3 !~ /detail/ { print $2, $4 }'
}

# Lines that know of other processes. A tensor has a rank, too, so "rank" alone does not count.
knows_ranks='[Pp]eers|[Rr]anks|_rank|rank_|Rank[A-Z]|[Aa]gree|[Vv]ote\b'

# What a ceiling limits, place by place: "<what> <where> <how much>" a line.
counted() {
  local folder
  cd "$root/include/trainhook"
  for folder in $core_library; do
    [ -d "$folder" ] || continue
    echo "lines_of_the_core $folder $(find "$folder" -name '*.[hi]pp' -exec cat {} + | wc -l)"
    echo "public_types_of_the_core $folder $(public_types "$folder" | wc -l)"
  done
  for folder in */; do
    echo "lines_of_all ${folder%/} $(find "$folder" -name '*.[hi]pp' -exec cat {} + | wc -l)"
    echo "headers_of_all ${folder%/} $(find "$folder" -name '*.hpp' | wc -l)"
  done
  echo "lines_of_all . $(cat ./*.hpp | wc -l)"
  echo "headers_of_all . $(find . -maxdepth 1 -name '*.hpp' | wc -l)"
  for folder in session loop checkpoint hooks monitored; do
    [ ! -d "$folder" ] || grep -rcE "$knows_ranks" "$folder" --include=*.[hi]pp | grep -vE ':0$|tensor_slice|^session/(impl/)?peers' | sort |
      sed 's/^/lines_with_ranks /; s/:/ /' || true
  done
}
sums() { counted | awk '{ sum[$1] += $3 } END { for (what in sum) print what, sum[what] }' | sort; }

check_ceilings() {  # what the library may weigh
  local what number most
  while read -r what number; do
    most=$(awk -v what="$what" '$1 == what { print $2 }' "$root/tests/architecture/ceilings.txt")
    [ "$number" -gt "${most:-0}" ] || continue
    violation "$what: $number, more than ${most:-0}:"$'\n'"$(counted | awk -v what="$what" '$1 == what { print $2, $3 }' | sort -k 2 -n -r | head -n 12)"
  done < <(sums)
}

check_cost_of_including() {  # kilobytes after preprocessing for programs that link the compiled library: a measure that does not depend on the machine
  local allowance=100  # percent; the standard library of a newer g++ is larger
  case $("$compiler" -dumpversion) in 12) ;; 13 | 14 | 15) allowance=140 ;; *) allowance=160 ;; esac
  while read -r file most; do
    case $file in '#'* | '') continue ;; esac
    if [ ! -f "$root/include/trainhook/$file" ]; then
      violation "$file is listed in costs.txt and does not exist"
      continue
    fi
    printf '#include <trainhook/%s>\n' "$file" >"$scratch/all.cpp"
    cost=$(($("$compiler" -std=c++20 -DTRAINHOOK_SEPARATE_COMPILATION -I"$root/include" -isystem /usr/include/eigen3 -E -P "$scratch/all.cpp" | wc -c) / 1024))
    echo "$check: $file costs $cost of $most kB"
    [ "$cost" -le $((most * allowance / 100)) ] || violation "$file brings in $cost kB of source, more than $most"
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
if [ "$check" = count ]; then sums; exit 0; fi
compiler=$3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"check_$check"
[ "$failures" = 0 ]
