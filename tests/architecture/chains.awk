# SPDX-License-Identifier: Apache-2.0
# Sorts headers into chains in which each includes, by itself or by what it includes, the one before it: awk -f chains.awk <header>...
# Prints a chain a line. A file that includes a chain in this order compiles each of its headers as if it were alone, because nothing stands
# before a header but what it includes anyway; that takes a third of the files.
FNR == 1 { headers[++count] = FILENAME }
match($0, /^[ \t]*#[ \t]*include[ \t]*<trainhook\//) {
  included = substr($0, RSTART + RLENGTH)
  sub(/>.*/, "", included)
  direct[FILENAME] = direct[FILENAME] " " included
}

function reach(from, header,    names, n, i) {
  n = split(direct[header], names, " ")
  for (i = 1; i <= n; ++i) {
    if ((from, names[i]) in includes) continue
    includes[from, names[i]] = 1
    ++size[from]
    reach(from, names[i])
  }
}
# Of the headers that are in no chain yet and that `above` includes (or of all, where it is empty), the one that includes most.
function largest_below(above,    i, best) {
  for (i = 1; i <= count; ++i) {
    if (headers[i] in placed || (above != "" && !((above, headers[i]) in includes))) continue
    if (best == "" || size[headers[i]] > size[best]) best = headers[i]
  }
  return best
}
END {
  for (i = 1; i <= count; ++i) { size[headers[i]] += 0; reach(headers[i], headers[i]) }
  while ((header = largest_below("")) != "") {
    for (chain = ""; header != ""; header = largest_below(header)) {
      placed[header] = 1
      chain = header " " chain
    }
    print chain
  }
}
