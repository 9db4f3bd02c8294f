# SPDX-License-Identifier: Apache-2.0
# Prints the files, of all headers and bodies below include/, that include the header `brought` before they have anything of their own: a header that
# includes it, directly or not, the body of such a header, and a body without a header that does. Not the header itself or its body.
FNR == 1 { file = FILENAME; sub(/^.*\/include\/trainhook\//, "", file); files[file] }
/^#include <trainhook\/.*[.]hpp>/ { sub(/^#include <trainhook\//, ""); sub(/>.*/, ""); includes[file] = includes[file] " " $0 }

function brings(file, names, count, i) {
  if (!(file in known)) {
    known[file] = file == brought
    count = split(includes[file], names, " ")
    for (i = 1; i <= count && !known[file]; ++i) known[file] = brings(names[i])
  }
  return known[file]
}

END {
  for (file in files) {
    begins = file
    sub(/impl\//, "", begins)
    sub(/[.]ipp$/, ".hpp", begins)
    if (!(begins in files)) begins = file
    if (begins != brought && brings(begins)) print file
  }
}
