// SPDX-License-Identifier: Apache-2.0
/// @file
/// Fuzzes the state file `checkpoint`, and the choice of what to restore.
#include "fuzz.hpp"

#include <trainhook/checkpoint/checkpoint_state.hpp>
#include <trainhook/testing/memory_file_system.hpp>

namespace th = trainhook;

void fuzz::read(Input input) {
  th::testing::MemoryFileSystem disk;
  disk.write_file("run/checkpoint", std::string(input.rest()));
  disk.write_file("run/model.ckpt-3.index", "");
  static_cast<void>(th::detail::checkpoint_candidates(disk, "run"));
  static_cast<void>(th::latest_checkpoint(disk, "run"));
}

std::vector<std::string> fuzz::seeds() { return {data_file("checkpoint")}; }
