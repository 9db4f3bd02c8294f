#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Kills, cuts the power of, fills, damages and starves training runs for as many minutes as it is given, each round with other random
# choices, and compares what they end with: soak.sh [minutes]. Without minutes one short round. Ends 1 if anything was lost.
# TRAINHOOK_SOAK_DIR names a folder on the disk to be used; without it that is a temporary one.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
minutes=${1:-0}
case $minutes in *[!0-9]*) echo "soak.sh: '$minutes' is not a number of minutes" >&2; exit 2 ;; esac
"$root/.ci/packages" examples
"$root/.ci/configure" gcc -DTRAINHOOK_BUILD_INTEROP=ON
cmake --build "$root/build/gcc" --target soak
work=$(mktemp -d "${TRAINHOOK_SOAK_DIR:-/tmp}/trainhook-soak.XXXXXX")
trap 'rm -rf "$work"' EXIT

every=1
[ "$minutes" != 0 ] || every=21
seed=1 status=0
end=$((SECONDS + 60 * minutes))
soak=$root/build/gcc/tests/soak/soak
mounts=""  # a small tmpfs is mounted where that disturbs nobody, if it may be
unshare -rm true 2>/dev/null && mounts="unshare -rm"
while :; do
  for part in audits kills signals stops damage full_disks two_processes long_run; do
    "$soak" "$part" "$work" $every $seed || status=1
  done
  $mounts "$soak" small_tmpfs "$work" $every $seed || status=1
  seed=$((seed + 1))
  [ $SECONDS -lt $end ] || break
done
if [ $status = 0 ]; then echo "soak: nothing was lost in $((seed - 1)) rounds, $SECONDS s"; else echo "soak: something was lost" >&2; fi
exit $status
