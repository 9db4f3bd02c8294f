// SPDX-License-Identifier: Apache-2.0
/// @file
/// Fuzzes event files: records, events, summaries and histograms.
#include "fuzz.hpp"

#include <trainhook/events/event_reader.hpp>
#include <trainhook/testing/memory_file_system.hpp>

namespace th = trainhook;

void fuzz::read(Input input) {
  th::testing::MemoryFileSystem disk;
  disk.write_file("events", std::string(input.rest()));
  static_cast<void>(th::read_events(disk, "events"));
}

std::vector<std::string> fuzz::seeds() { return {data_file("events_1.tfevents"), data_file("events_2.tfevents")}; }
