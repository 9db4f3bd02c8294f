#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A rank of a job: the rank that is named gets a signal, once, after some seconds (without --foreground timeout sends it twice, and the second
# one ends a program at once). on_one_rank.sh <rank> <signal> <seconds> <program> [argument]...
rank=$1 signal=$2 seconds=$3
shift 3
if [ "${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-none}}" = "$rank" ]; then exec timeout --foreground --preserve-status --signal="$signal" "$seconds" "$@"; fi
exec "$@"
