# SPDX-License-Identifier: Apache-2.0
# A page as doxygen wants it: awk -f docs-page.awk guide.md
# GitHub names headings within a page, doxygen within all pages: a heading and the links to it get the name of the page in front. A link to a
# file that is not a page becomes its text.
BEGIN { page = page_of(ARGV[1]) }

function page_of(path) {
  sub(/.*\//, "", path)
  sub(/\.md$/, "", path)
  return path
}

function link_to(text, target,   parts) {
  if (target ~ /^(LICENSE|examples|tests)/) return text
  if (target !~ /#/ || target ~ /:\/\//) return "[" text "](" target ")"
  split(target, parts, "#")
  return "[" text "](@ref " (parts[1] == "" ? page : page_of(parts[1])) "-" parts[2] ")"
}

/^```/ { is_code = !is_code }
is_code { print; next }

/^##+ / {
  name = tolower($0)
  sub(/^#+ /, "", name)
  gsub(/[^a-z0-9 _-]/, "", name)
  gsub(/ /, "-", name)
  print $0 " {#" page "-" name "}"
  next
}

{
  done = ""
  rest = $0
  while (match(rest, /!?\[[^]]*\]\([^)]*\)/)) {
    link = substr(rest, RSTART, RLENGTH)
    done = done substr(rest, 1, RSTART - 1)
    rest = substr(rest, RSTART + RLENGTH)
    middle = index(link, "](")
    target = substr(link, middle + 2, length(link) - middle - 2)
    if (link ~ /^!/) {
      sub(/.*\//, "", target)  # doxygen looks for pictures in IMAGE_PATH
      done = done substr(link, 1, middle + 1) target ")"
    } else {
      done = done link_to(substr(link, 2, middle - 2), target)
    }
  }
  print done rest
}
