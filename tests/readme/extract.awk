# SPDX-License-Identifier: Apache-2.0
# Writes each program of the given pages to <folder>/<name>.cpp, and prints its name, the targets it names and what it prints:
# awk -v folder=DIR -f extract.awk README.md .github/*.md
# A program is the code block after a line <!-- program: name [target]... prints: a regular expression -->.
/^<!-- program: / {
  line = $0
  sub(/^<!-- program: /, "", line)
  sub(/ -->$/, "", line)
  prints = line; if (!sub(/.* prints: /, "", prints)) prints = ""
  sub(/ prints: .*/, "", line)
  name = line; sub(/ .*/, "", name)
  targets = line; if (!sub(/^[^ ]+ /, "", targets)) targets = ""
  if (name in seen) { print FILENAME ": there are two programs called " name > "/dev/stderr"; exit 1 }
  seen[name] = 1
  next
}
/^```cpp$/ && name != "" { file = folder "/" name ".cpp"; printf "" > file; inside = 1; next }
/^```$/ && inside { close(file); print name ";" targets ";" prints; name = ""; inside = 0; next }
inside { print > file }
