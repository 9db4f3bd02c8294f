// SPDX-License-Identifier: Apache-2.0
/// @file
/// Fuzzes files of records.
#include "fuzz.hpp"

#include <trainhook/io/records.hpp>
#include <trainhook/testing/memory_file_system.hpp>

namespace th = trainhook;

void fuzz::read(Input input) {
  th::testing::MemoryFileSystem disk;
  disk.write_file("records", std::string(input.rest()));
  th::detail::RecordReader reader(disk.open_readable("records"));
  std::string payload;
  while (reader.next(payload)) {}
}

std::vector<std::string> fuzz::seeds() { return {data_file("records.tfrecord"), data_file("events_2.tfevents")}; }
