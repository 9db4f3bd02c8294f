#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Writes several tests into one file: batch.sh <output> <root> <test>... What templates cost to compile is then paid once for all of them,
# a quarter of the time of one file each. Every test keeps its names to itself: its unnamed namespace gets a name of its own.
set -euo pipefail
output=$1 root=$2
shift 2
for test in "$@"; do
  name=${test#"$root/tests/"}
  name=${name%.cpp}
  printf '#line 1 "%s"\n' "$test"
  sed "s/^namespace {/namespace in_${name//\//_} {/" "$test"
done >"$output"
