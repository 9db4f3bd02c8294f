#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# How the archives beside this script were made: trains to step 7 with the headers of a commit, and packs the checkpoints. make.sh <commit>
set -euo pipefail
commit=$1
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
git -C "$here/../.." archive "$commit" include | tar x -C "$folder"
g++ -std=c++20 -O0 -DFMT_SHARED -I"$folder/include" -isystem /usr/include/eigen3 "$here/program.cpp" -o "$folder/program" -lfmt -lz -lpng -pthread
"$folder/program" "$folder/trained" 7 >/dev/null
find "$folder/trained" '(' -name 'events.*' -o -name '.checkpoint_lock' ')' -delete
tar cz --owner=0 --group=0 --numeric-owner -f "$here/$commit.tar.gz" -C "$folder/trained" .
