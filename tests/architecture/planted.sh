#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Proves that each check of check.sh can fail: plants a violation in a small source tree of its own and wants it found. planted.sh <root> <compiler>
set -euo pipefail
check=$1/tests/architecture/check.sh
compiler=$2
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
failed=0

header() {  # header <path below include/trainhook> <line>...
  mkdir -p "$tree/include/trainhook/$(dirname "$1")"
  { printf '%s\n' "// SPDX-License-Identifier: Apache-2.0" "/// @file" "/// A small part." "#pragma once"; shift_first_out "$@"; } >"$tree/include/trainhook/$1"
}
shift_first_out() { shift; [ $# = 0 ] || printf '%s\n' "$@"; }

build_tree() {
  rm -rf "${tree:?}"/*
  mkdir -p "$tree/examples" "$tree/tests/architecture" "$tree/tests/core"
  echo "core/tensor.hpp 900" >"$tree/tests/architecture/costs.txt"
  printf '%s\n' "lines_of_the_core 20" "lines_of_all 40" "public_types_of_the_core 1" "headers_of_all 6" >"$tree/tests/architecture/ceilings.txt"
  header core/tensor.hpp "#include <string>"
  header io/disk.hpp "#include <trainhook/core/tensor.hpp>"
  header session/step.hpp "#include <trainhook/io/disk.hpp>"
  header media/picture.hpp "#include <trainhook/core/tensor.hpp>"
  header engine/kernel.hpp "#include <trainhook/core/tensor.hpp>" "#include <trainhook/media/picture.hpp>" "#include <Eigen/Core>"
  header trainhook.hpp "#include <trainhook/session/step.hpp>"
  printf '%s\n' "// SPDX-License-Identifier: Apache-2.0" "/// @file" "/// A test." "#include <trainhook/core/tensor.hpp>" >"$tree/tests/core/tensor_test.cpp"
  printf '%s\n' "// SPDX-License-Identifier: Apache-2.0" "/// @file" "/// A program." "#include <trainhook/core/tensor.hpp>" >"$tree/examples/custom_loop.cpp"
}

for name in $(bash "$check" list); do
  build_tree
  if ! said=$(bash "$check" "$name" "$tree" "$compiler" 2>&1); then
    echo "$name fails on a tree that is in order: $said"
    failed=1
  fi
done

planted=""
finds() {  # finds <check> <words of its message>: the tree as it stands breaks this rule
  planted+=" $1"
  if said=$(bash "$check" "$1" "$tree" "$compiler" 2>&1); then
    echo "$1 passes, although: $2"
    failed=1
  elif ! grep -qF "$2" <<<"$said"; then
    echo "$1 does not say '$2' but: $said"
    failed=1
  fi
  build_tree
}
passes() {  # passes <check>: the tree as it stands keeps this rule
  said=$(bash "$check" "$1" "$tree" "$compiler" 2>&1) || { echo "$1 fails on a tree that is in order: $said"; failed=1; }
  build_tree
}
build_tree

header core/tensor.hpp "#include <trainhook/io/disk.hpp>"; finds folder_order "core/tensor.hpp includes io/disk.hpp"
header io/disk.hpp "#include <trainhook/media/picture.hpp>"; finds folder_order "io/disk.hpp includes media/picture.hpp"
header media/picture.hpp "#include <trainhook/engine/kernel.hpp>"; finds folder_order "media/picture.hpp includes engine/kernel.hpp"
header trainhook.hpp "#include <trainhook/media/picture.hpp>"; finds folder_order "trainhook.hpp includes media/picture.hpp"
header attic/box.hpp; finds folder_order "attic has no place"
defines() { header "$1" "namespace trainhook {" "class $2 {" "};" "}"; }  # defines <path below include/trainhook> <type>
declares() { header "$1" "namespace trainhook {" "namespace detail {" "struct Reel {};" "}" "class $2;" "}"; }
owes() { echo "debt $1 $2" >>"$tree/tests/architecture/ceilings.txt"; }
defines session/step.hpp Step; declares io/disk.hpp Step; finds folder_order "io/disk.hpp declares Step, which its folder may not know"
defines engine/kernel.hpp Kernel; declares io/disk.hpp Kernel; finds folder_order "io/disk.hpp declares Kernel"
defines session/step.hpp Step; declares io/impl/disk.ipp Step; finds folder_order "io/impl/disk.ipp declares Step"
owes io/disk.hpp Step; finds folder_order "io/disk.hpp does not declare Step of a later folder any more"
defines session/step.hpp Step; defines core/tensor.hpp Step; declares io/disk.hpp Step; owes io/disk.hpp Step; finds folder_order "does not declare Step"
defines session/step.hpp Step; declares io/disk.hpp Step; owes io/disk.hpp Step; passes folder_order
defines core/tensor.hpp Tensor; declares io/disk.hpp Tensor; passes folder_order
header io/disk.hpp "#include \"trainhook/core/tensor.hpp\""; finds include_style "disk.hpp:5"
header io/disk.hpp "#include <trainhook/core/absent.hpp>"; finds include_style "which does not exist"
header core/impl/tensor.ipp "#include <string>" "#include <trainhook/core/tensor.hpp>"; finds include_style "core/impl/tensor.ipp includes <string> first"
header io/disk.hpp "#include <trainhook/io/tape.hpp>"; header io/tape.hpp "#include <trainhook/io/disk.hpp>"; finds no_cycles "io/tape.hpp is part"
header io/impl/disk.ipp "#include <trainhook/session/step.hpp>"; finds folder_order "io/disk.hpp includes session/step.hpp"
header core/tape.hpp "#include <trainhook/core/tensor.hpp>"; header core/impl/tensor.ipp "#include <trainhook/core/tape.hpp>"; finds no_cycles "core/tape.hpp is part"
header io/disk.hpp "#define LEAK 1"; finds no_macros "disk.hpp:5"
header io/impl/disk.ipp "TRAINHOOK_DECL int Disk::size() const { return 0; }"; finds macro_on_declarations "disk.ipp:5"
header io/disk.hpp "template <class T>" "int size_in(const T&);"; header io/tape.hpp "int size_in(int);"; finds templates_have_their_name_alone "io/disk: the function template size_in"
sed -i 1d "$tree/include/trainhook/io/disk.hpp"; finds first_lines "io/disk.hpp: the first line"
sed -i 1d "$tree/tests/core/tensor_test.cpp"; finds first_lines "tensor_test.cpp: the first line"
sed -i 2d "$tree/include/trainhook/io/disk.hpp"; finds first_lines "io/disk.hpp: the second line"
sed -i '/pragma/d' "$tree/include/trainhook/io/disk.hpp"; finds first_lines "io/disk.hpp: has no \"#pragma once\""
awk "BEGIN { for (i = 0; i < 450; ++i) print \"//\" }" >>"$tree/include/trainhook/io/disk.hpp"; finds length "io/disk.hpp has 455 lines"
header io/disk_utils.hpp; finds names "disk_utils.hpp: a vague name"
header io/Disk.hpp; finds names "Disk.hpp: not snake_case"
header io/detail/disk.hpp; finds names "a folder that says nothing"
cp "$tree/tests/core/tensor_test.cpp" "$tree/tests/core/ghost_test.cpp"; finds tests_mirror_headers "ghost_test.cpp mirrors no header and no .ipp"
mkdir -p "$tree/tests/with_engine/io" && cp "$tree/tests/core/tensor_test.cpp" "$tree/tests/with_engine/io"; finds tests_mirror_headers "with_engine/io/tensor_test.cpp mirrors no header"
sed -i 's/core\/tensor/io\/disk/' "$tree/tests/core/tensor_test.cpp"; finds tests_mirror_headers "the first include is not"
header io/disk.hpp "#include <Eigen/Core>"; finds forbidden_includes "Eigen is reached from"
header io/disk.hpp "#include <zlib.h>"; finds forbidden_includes "zlib is reached from"
header engine/kernel.hpp "#include <png.h>"; finds forbidden_includes "kernel.hpp:5"
header engine/kernel.hpp "#include <fmt/format.h>"; finds forbidden_includes "kernel.hpp:5"
echo "// fmt::join" >>"$tree/examples/custom_loop.cpp"; finds forbidden_includes "custom_loop.cpp: fmt::join"
header engine/impl/kernel.ipp "#include <fmt/core.h>"; finds forbidden_includes "kernel.ipp:5"
header engine/kernel.hpp "inline auto text() { return fmt::format(\"\"); }"; finds forbidden_includes "kernel.hpp:5"
header engine/impl/kernel.ipp "inline auto text() { return fmt::format(\"\"); }"; finds forbidden_includes "kernel.ipp"
header io/disk.hpp "#include <Random123/philox.h>"; finds forbidden_includes "disk.hpp:5"
header media/picture.hpp "#include <iostream>"; finds forbidden_includes "picture.hpp:5"
header engine/kernel.hpp "#include <mpi.h>"; finds forbidden_includes "kernel.hpp:5"
header engine/kernel.hpp "#include <nlohmann/json.hpp>"; finds forbidden_includes "kernel.hpp:5"
header io/impl/disk.ipp "inline void read() { std::thread([] {}).join(); }"; finds one_place "disk.ipp:5"
header core/tensor.hpp "#include <regex>"; finds cost_of_including "core/tensor.hpp brings in"
header io/tape.hpp; finds ceilings "headers_of_all: 7, more than 6:"
header io/disk.hpp "struct Disk {" "};" "class Tape : public Reel<Disk> {" "};"; finds ceilings "public_types_of_the_core: 2, more than 1"
header io/disk.hpp "namespace detail {" "struct Reel {" "};" "}" "struct Disk {" "};" "struct Tape {" "};"; finds ceilings "public_types_of_the_core: 2"
header session/step.hpp "/// One of the steps of all ranks."; finds ceilings "session/step.hpp 1"
awk "BEGIN { for (i = 0; i < 20; ++i) print \"//\" }" >>"$tree/include/trainhook/io/disk.hpp"; finds ceilings "lines_of_the_core: 35, more than 20"
awk "BEGIN { for (i = 0; i < 20; ++i) print \"//\" }" >>"$tree/include/trainhook/io/disk.hpp"; finds ceilings "io 25"
awk "BEGIN { for (i = 0; i < 20; ++i) print \"//\" }" >>"$tree/include/trainhook/media/picture.hpp"; finds ceilings "lines_of_all: 52, more than 40"
echo "core/gone.hpp 5" >>"$tree/tests/architecture/costs.txt"; finds cost_of_including "core/gone.hpp is listed"
echo "#include <Eigen/Core>" >>"$tree/examples/custom_loop.cpp"; finds custom_loop_without_eigen "reaches Eigen"

for name in $(bash "$check" list); do
  case " $planted " in *" $name "*) ;; *) echo "$name was never seen to fail"; failed=1 ;; esac
done
echo "planted $(wc -w <<<"$planted") violations"
exit "$failed"
