// SPDX-License-Identifier: Apache-2.0
/// @file
/// manage_checkpoints <directory> <max_to_keep, or 0 for all> <saves> [number of each save]: goes on in the directory,
/// where w grows by 1 before each save, and prints after each save what a CheckpointManager manages there.

#include <cstdint>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>

#include <fmt/core.h>

#include <trainhook/compat/checkpoint_manager.hpp>
#include <trainhook/compat/object_graph_keys.hpp>
#include <trainhook/trainhook.hpp>

namespace th = trainhook;

int main(int argc, char** argv) {
  try {
    if (argc < 4)
      throw th::InvalidArgumentError("usage: manage_checkpoints <directory> <max_to_keep> <saves> [number]");
    const int max_to_keep = std::stoi(argv[2]);
    float w = 0;
    th::LoopSession loop;
    loop.variable("w", w);
    loop.open();
    th::CheckpointManager manager(argv[1], max_to_keep == 0 ? std::nullopt : std::optional(max_to_keep),
                                  {.format = th::open_object_based});
    const std::optional<std::string> restored = manager.restore_or_initialize(loop);
    fmt::print("restored {}: w {}\n", restored ? restored->substr(restored->rfind('/') + 1) : "nothing", w);
    for (int i = 0; i < std::stoi(argv[3]); ++i) {
      w += 1;
      manager.save(loop, argc > 4 ? std::optional<std::int64_t>(std::stoll(argv[4])) : std::nullopt);
      for (const std::string& prefix : manager.checkpoints()) fmt::print("{} ", prefix.substr(prefix.rfind('/') + 1));
      fmt::print("\n");
    }
  } catch (const std::exception& error) {
    fmt::print(stderr, "manage_checkpoints: {}\n", error.what());
    return 1;
  }
}
