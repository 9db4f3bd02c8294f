# SPDX-License-Identifier: Apache-2.0
# Writes each program of the README to <folder>/<name>.cpp and says what it links and prints: awk -v folder=DIR -f extract.awk README.md
# A program is the code block behind a line <!-- program: name [engine] prints: what it prints -->.
/^<!-- program: / {
  line = $0
  sub(/^<!-- program: /, "", line)
  sub(/ -->$/, "", line)
  name = line; sub(/ .*/, "", name)
  prints = line; if (!sub(/.* prints: /, "", prints)) prints = ""
  links = line ~ / engine( |$)/ ? "trainhook::engine" : "trainhook::trainhook"
  next
}
/^```cpp$/ && name != "" { file = folder "/" name ".cpp"; printf "" > file; inside = 1; next }
/^```$/ && inside { close(file); print name ";" links ";" prints; name = ""; inside = 0; next }
inside { print > file }
