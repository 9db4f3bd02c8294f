#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fetches the archives of packages.txt with their client, compares them with their checksums, and unpacks the listed files into
# build/interop/collection/files: fetch.sh <python>. Some 170 MB. What is there already is not fetched again.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../../.." && pwd)
python=$1
archives=$root/build/interop/collection/archives
files=$root/build/interop/collection/files
mkdir -p "$archives" "$files"

# Only the archive: nothing is installed. Wheels are chosen if there are any; pip runs the setup.py of a source archive to learn its name.
fetch() {  # <client> <name> <version>
  case $1 in
    pip) "$python" -m pip download --quiet --disable-pip-version-check --no-deps --no-build-isolation --dest "$archives" "$2==$3" ;;
    *) echo "fetch: no client '$1'" >&2; return 1 ;;
  esac
}

take() {  # <archive> <folder> <file>: one file of it
  case $1 in
    *.whl) "$python" -c 'import sys, zipfile; zipfile.ZipFile(sys.argv[1]).extract(sys.argv[2], sys.argv[3])' "$archives/$1" "$3" "$files/$2" ;;
    *) tar -xzf "$archives/$1" -C "$files/$2" "$3" ;;
  esac
}

while read -r -a word; do
  [[ ${#word[@]} -eq 0 || ${word[0]} == "#" ]] && continue
  if [ ${#word[@]} -eq 5 ]; then
    archive=${word[3]} folder=${word[1]}-${word[2]}
    [ -f "$archives/$archive" ] || fetch "${word[@]:0:3}"
    echo "${word[4]}  $archives/$archive" | sha256sum --check --quiet || { echo "fetch: $archive is not the one of packages.txt" >&2; exit 1; }
    mkdir -p "$files/$folder"
  else
    take "$archive" "$folder" "${word[0]}"
  fi
done <"$here/packages.txt"
echo "fetch: $(find "$files" -type f | wc -l) files in $files"
