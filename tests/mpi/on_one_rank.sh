#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A rank of a job: the rank that is named gets a signal after some seconds. on_one_rank.sh <rank> <signal> <seconds> <program> [argument]...
rank=$1 signal=$2 seconds=$3
shift 3
if [ "${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-none}}" = "$rank" ]; then exec timeout --preserve-status --signal="$signal" "$seconds" "$@"; fi
exec "$@"
