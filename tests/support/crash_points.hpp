// SPDX-License-Identifier: Apache-2.0
/// @file
/// Lives that end at each of their file operations, by a kill and by power cuts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/testing/faulty_file_system.hpp>
#include <trainhook/testing/memory_file_system.hpp>

#include "reordering_disk.hpp"

namespace trainhook::support {

/// Which changes of names power cuts keep: all subsets of a few; of many none, all, each alone, all but each, and all
/// until each.
inline std::vector<std::uint64_t> kept_changes(std::size_t changes) {
  std::vector<std::uint64_t> kept;
  const std::uint64_t all = (std::uint64_t{1} << changes) - 1;
  if (changes <= 5) {
    for (std::uint64_t subset = 0; subset <= all; ++subset) kept.push_back(subset);
    return kept;
  }
  kept = {0, all};
  for (std::size_t i = 0; i < changes; ++i) {
    const std::uint64_t one = std::uint64_t{1} << i;
    kept.insert(kept.end(), {one, all ^ one, one - 1});
  }
  return kept;
}

/// Prepares a disk with `before`, lets `life` end at its n-th operation, and hands what is left to `look`: for all n,
/// for a kill, and for each power cut that may follow. A life ends by an exception, or goes on and gets nothing done.
/// `look`'s second argument is false if the life came to its end before.
inline void end_at_each_operation(const std::function<void(testing::MemoryFileSystem&)>& before,
                                  const std::function<void(FileSystem&, testing::MemoryFileSystem&)>& life,
                                  const std::function<void(testing::MemoryFileSystem&, bool ended)>& look) {
  for (std::uint64_t n = 1;; ++n) {
    testing::MemoryFileSystem disk;
    disk.make_directories("run");
    before(disk);
    ReorderingDisk reordering(disk);
    testing::FaultyFileSystem dying(reordering);
    dying.fail_from(n);
    try {
      life(dying, disk);
    } catch (const DataLossError&) {}
    const bool ended = dying.count() >= n;
    for (const std::uint64_t kept : kept_changes(reordering.pending())) {
      SCOPED_TRACE(
          fmt::format("the power goes at operation {} and keeps {:b} of {} changes", n, kept, reordering.pending()));
      testing::MemoryFileSystem left;
      reordering.power_cut(kept, left);
      look(left, ended);
    }
    SCOPED_TRACE(fmt::format("killed at operation {}", n));
    look(disk, ended);
    if (!ended) {
      EXPECT_GT(n, 5U);
      return;
    }
    if (::testing::Test::HasFailure()) return;  // the first is enough
  }
}

}  // namespace trainhook::support
