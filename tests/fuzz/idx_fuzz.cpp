// SPDX-License-Identifier: Apache-2.0
/// @file
/// Fuzzes IDX files, plain and compressed.
#include "fuzz.hpp"

#include <trainhook/media/mnist.hpp>
#include <trainhook/testing/memory_file_system.hpp>

namespace th = trainhook;

void fuzz::read(Input input) {
  th::testing::MemoryFileSystem disk;
  disk.write_file("images.idx", std::string(input.rest()));
  static_cast<void>(th::read_idx_file(disk, "images.idx"));
}

std::vector<std::string> fuzz::seeds() {
  using namespace std::string_literals;
  return {
      "\0\0\x08\x01\0\0\0\x03"
      "abc"s,
      "\0\0\x08\x03\0\0\0\x01\0\0\0\x02\0\0\0\x02wxyz"s,
      "\x1f\x8b\x08\0\0\0\0\0\0\x03\x63\x60\xe0\x60\x64\x60\x60\x60\x4e\x4c\x4a\x06\0"s};
}
