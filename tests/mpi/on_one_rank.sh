#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A rank of a job: the rank that is named gets a signal after some seconds, or for AT is killed at a call that changes a file (KILL_AT of
# ../kill/kill_at.c). on_one_rank.sh <rank> <signal> <seconds> <program> [argument]..., on_one_rank.sh <rank> AT <call> <program> [argument]...
set -u
rank=$1 signal=$2 seconds=$3
shift 3
[ "${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-none}}" = "$rank" ] || exec "$@"

[ "$signal" != AT ] || KILL_AT=$seconds LD_PRELOAD=$KILL_AT_LIBRARY exec "$@"

"$@" &
child=$!
catches_term() { [ $((0x$(sed -n 's/^SigCgt:\t//p' "/proc/$child/status") & 0x4000)) != 0 ]; }
if [ "$signal" = TERM ]; then  # which asks to stop once the program listens, and kills it before
  while [ -e "/proc/$child" ] && ! catches_term; do sleep 0.05; done
fi
sleep "$seconds"
kill -s "$signal" "$child" 2>/dev/null
wait "$child"
