// SPDX-License-Identifier: Apache-2.0
/// @file
/// Fuzzes gzip files of one and more members.
#include "fuzz.hpp"

#include <trainhook/media/gzip.hpp>
#include <trainhook/testing/memory_file_system.hpp>

namespace th = trainhook;

void fuzz::read(Input input) {
  th::testing::MemoryFileSystem disk;
  disk.write_file("file.gz", std::string(input.rest()));
  static_cast<void>(th::read_gzip_file(disk, "file.gz", std::size_t{1} << 20));
}

std::vector<std::string> fuzz::seeds() {
  using namespace std::string_literals;
  const std::string member = "\x1f\x8b\x08\0\0\0\0\0\0\x03\x4b\x4c\x4a\x06\0\xc2\x41\x24\x35\x03\0\0\0"s;  // abc
  return {member, member + member};
}
