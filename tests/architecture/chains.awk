# SPDX-License-Identifier: Apache-2.0
# Prints the headers named in `wanted` that bring `brought` (all, if that is nothing.hpp) as chains, one a line: each brings those before it, includes
# them, directly or not. So whoever parses a chain parses each header as if it came first: nothing that it has forgotten comes from those before it.
FNR == 1 { file = FILENAME; sub(/^.*\/include\/trainhook\//, "", file) }
/^#include <trainhook\/.*[.]hpp>/ { sub(/^#include <trainhook\//, ""); sub(/>.*/, ""); includes[file] = includes[file] " " $0 }

# Puts into `all` what the file includes, directly or not, into `size` how much that is, and each into `brings`.
function close_over(file, names, count, i, found) {
  if (file in size) return
  size[file] = 0
  count = split(includes[file], names, " ")
  for (i = 1; i <= count; ++i) {
    close_over(names[i])
    found = found " " names[i] all[names[i]]
  }
  count = split(found, names, " ")
  for (i = 1; i <= count; ++i) {
    if ((file, names[i]) in brings) continue
    brings[file, names[i]]
    all[file] = all[file] " " names[i]
    ++size[file]
  }
}

# The one of `left` that brings most, or most of those that `from` brings; "" if there is none.
function largest(from, file, found) {
  for (file in left) {
    if (from != "" && !((from, file) in brings)) continue
    if (found == "" || size[file] > size[found] || size[file] == size[found] && file < found) found = file
  }
  delete left[found]
  return found
}

END {
  count = split(wanted, names, ";")
  for (i = 1; i <= count; ++i) {
    close_over(names[i])
    if (brought == "nothing.hpp" || (names[i], brought) in brings) left[names[i]]
  }
  while ((file = largest("")) != "") {
    for (chain = file; (file = largest(file)) != "";) chain = file " " chain
    print chain
  }
}
