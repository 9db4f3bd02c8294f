#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What an earlier commit saved goes on as if it had never stopped: restore.sh <archive> <program>
set -euo pipefail
archive=$1 program=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/resumed"
tar xz -f "$archive" -C "$folder/resumed"
new='^best/.* _trainhook/hooks/CsvLoggerHook/written '  # in what is only kept: 619386a did not save it yet
[[ $archive == *619386a* ]] || new='^$'
cd "$folder"
"$program" resumed 12 >resumed.txt 2>log.txt || { cat log.txt; exit 1; }
for part in loop graph ranks; do
  grep -q "Restored resumed/$part/model.ckpt-7" log.txt || { cat log.txt; echo "nothing was restored from $part"; exit 1; }
done
"$program" whole 12 >whole.txt 2>/dev/null
diff <(grep -v "$new" whole.txt) resumed.txt
cmp whole/loop/log.csv resumed/loop/log.csv
