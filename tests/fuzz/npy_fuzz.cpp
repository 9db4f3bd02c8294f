// SPDX-License-Identifier: Apache-2.0
/// @file
/// Fuzzes files of NumPy.
#include "fuzz.hpp"

#include <trainhook/exchange/npy.hpp>
#include <trainhook/testing/memory_file_system.hpp>

namespace th = trainhook;

void fuzz::read(Input input) {
  th::testing::MemoryFileSystem disk;
  disk.write_file("a.npy", std::string(input.rest()));
  static_cast<void>(th::read_npy(disk, "a.npy"));
}

std::vector<std::string> fuzz::seeds() {
  using namespace std::string_literals;
  return {"\x93NUMPY\1\0\x3a\0{'descr': '<f4', 'fortran_order': True, 'shape': (1, 2), }\n12345678"s,
          "\x93NUMPY\2\0\x35\0\0\0{'descr': '|b1', 'fortran_order': False, 'shape': (), }\n\1"s,
          "\x93NUMPY\3\0\x4e\0\0\0{'descr': [('a', '<f4'), ('b', '>f4')], 'fortran_order': False, 'shape': (2,)}\n"s};
}
