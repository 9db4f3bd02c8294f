# SPDX-License-Identifier: Apache-2.0
# Makes one source file, `batch`, of test files: the unnamed namespace of each is in one with the name of its file, so that two files may use a name
# for different things. What the compiler says names the test file and its line.
FNR == 1 {
  name = FILENAME
  gsub(/[^A-Za-z0-9]/, "_", name)
  printf "#line 1 \"%s\"\n", FILENAME >batch
}
$0 == "namespace {" { $0 = "namespace " name " { namespace {" }
$0 == "}  // namespace" { $0 = "}}" }
{ print >batch }
