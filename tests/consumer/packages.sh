#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The Debian packages of what a build folder has compiled, unpacked in a folder of their own: packages.sh <root of the source> <build folder> <compiler>
set -euo pipefail
root=$1 build=$2 compiler=$3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

fail() {
  echo "packages: $*"
  exit 1
}

(cd "$build" && cpack -B "$folder" -D CPACK_DEBIAN_COMPRESSION_TYPE=none) >"$folder/said.txt" 2>&1 || fail "$(cat "$folder/said.txt")"
library=$(echo "$folder"/libtrainhook-dev_*.deb) command=$(echo "$folder"/trainhook-checkpoint_*.deb)
mkdir "$folder/system"
dpkg -x "$library" "$folder/system"
dpkg -x "$command" "$folder/system"
if grep -rlIF "$root" "$folder/system"; then fail "the installed files above name the source folder"; fi

# The library needs the libraries that it is built with, but neither MPI nor LibTorch; the command needs shared libraries alone.
needed() { dpkg-deb -f "$1" Depends | tr ',' '\n' | sed -E 's/^ +//; s/ .*//' | sort -u; }
diff <(needed "$library") <("$root/.ci/packages" --list build | grep -E '^(lib|zlib|nlohmann)') ||
  fail "libraries differ (< libtrainhook-dev needs it, > .ci/packages installs it)"
needed "$command" | grep '^libfmt[0-9]' >/dev/null || fail "trainhook-checkpoint does not say which libfmt it needs"
if needed "$command" | grep -e '-dev$'; then fail "trainhook-checkpoint needs headers"; fi

pc=$(dirname "$(find "$folder/system" -name trainhook.pc)")
PKG_CONFIG_PATH=$pc:$folder/system/usr/share/pkgconfig "$root/tests/consumer/installed.sh" "$root" "$compiler" "$folder/system/usr"

# The presets, in a folder that has the line of CONTRIBUTING.
mkdir "$folder/source"
ln -s "$root"/* "$root/.cmake" "$root/.ci" "$root/.github" "$folder/source"
grep -o '{"version.*json"]}' "$root/.github/CONTRIBUTING.md" >"$folder/source/CMakeUserPresets.json"
for preset in release dev; do
  (cd "$folder/source" && cmake --preset $preset -B "$folder/$preset") >"$folder/said.txt" 2>&1 || fail "the preset $preset: $(cat "$folder/said.txt")"
done
