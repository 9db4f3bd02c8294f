#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Proves what the walls between the folders are for, on copies of the source: without_modules.sh [copy]...
# core: without any module but testing/, the core library is built and passes its tests. <module>: without that module and those that use it, the
# rest is configured and finds what it includes. Without an argument, all of them.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
eval "$(grep -E '^(optional_modules|uses)=' "$root/tests/architecture/check.sh")"

# Makes build/without/<name> without the modules.
copy=""
copy_without() {
  copy=$root/build/without/$1
  shift
  rm -rf "$copy"
  mkdir -p "$copy"
  tar -C "$root" -cf - .ci .cmake CMakeLists.txt README.md include tests examples | tar -C "$copy" -xf -
  local module
  for module in "$@"; do rm -rf "$copy/include/trainhook/"{"$module","${module/_//}"}{,.hpp}; done
}

with_users() {  # with_users <module>: the module, and those that use it
  local user
  echo "$1"
  # shellcheck disable=SC2086  # a list of words
  for user in $(printf '%s\n' $uses | sed -n "s/>$1\$//p"); do with_users "$user"; done
}

check_includes() {
  local check
  for check in include_style folder_order; do bash "$copy/tests/architecture/check.sh" $check "$copy" g++; done
}

check_core() {
  # shellcheck disable=SC2046,SC2086  # lists of words
  copy_without core $(printf '%s\n' $optional_modules | grep -v testing)
  check_includes
  "$copy/.ci/configure" gcc -DTRAINHOOK_BUILD_TESTS=ON -DTRAINHOOK_ARCHITECTURE_TESTS=OFF -DCMAKE_DISABLE_FIND_PACKAGE_MPI=ON \
    -DTRAINHOOK_CASES_ALONE= -DTRAINHOOK_CASES_TOGETHER='*'
  cmake --build "$copy/build/gcc" -- --quiet
  "$copy/.ci/ctest" "$copy/build/gcc"
}

check_module() {
  # shellcheck disable=SC2046  # a list of words
  copy_without "$1" $(with_users "$1")
  check_includes
  local tests=ON
  [ "$1" != testing ] || tests=OFF
  "$copy/.ci/configure" gcc -DTRAINHOOK_BUILD_TESTS=$tests -DTRAINHOOK_ARCHITECTURE_TESTS=OFF
}

[ $# != 0 ] || set -- core $optional_modules
for name in "$@"; do
  if [ "$name" = core ]; then check_core; else check_module "$name"; fi
  echo "without_modules: $name: passed"
done
