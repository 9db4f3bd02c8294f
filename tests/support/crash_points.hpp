// SPDX-License-Identifier: Apache-2.0
/// @file
/// Lives that end at each of their file operations, by a kill and by power cuts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/testing/faulty_file_system.hpp>
#include <trainhook/testing/memory_file_system.hpp>

#include "sanitized.hpp"

namespace trainhook::support {

/// The ways in which a power cut may go, one after the other: all if they are few, otherwise the two extremes, those
/// that differ from them in one choice, and some at random.
class PowerCuts {
 public:
  /// The choices of the present way; those made first are counted.
  [[nodiscard]] testing::MemoryFileSystem::Choose choose() {
    counts_.clear();
    return [this](std::size_t count) {
      counts_.push_back(count);
      const std::size_t at = counts_.size() - 1;
      return at < picks_.size() && picks_[at] < count ? picks_[at] : 0;
    };
  }
  [[nodiscard]] std::string text() const {
    std::string text;
    for (const std::size_t pick : picks_) text += fmt::format(" {}", pick);
    return text;
  }

  /// Goes to the next way; false after the last.
  bool next() {
    if (ways_.empty()) plan();
    if (++way_ >= ways_.size()) return false;
    picks_ = ways_[way_];
    return true;
  }

 private:
  using Way = std::vector<std::size_t>;

  void plan() {
    ways_.push_back(Way(counts_.size(), 0));
    std::size_t all = 1;
    for (const std::size_t count : counts_) all = all > kMost ? all : all * count;
    if (all <= kMost) {
      for (std::size_t number = 1; number < all; ++number) {
        Way way;
        std::size_t rest = number;
        for (const std::size_t count : counts_) {
          way.push_back(rest % count);
          rest /= count;
        }
        ways_.push_back(way);
      }
      return;
    }
    Way last;
    for (const std::size_t count : counts_) last.push_back(count - 1);
    ways_.push_back(last);
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      Way one(counts_.size(), 0);
      one[i] = last[i];
      ways_.push_back(one);
      Way but_one = last;
      but_one[i] = 0;
      ways_.push_back(but_one);
    }
    for (std::size_t i = 0; i < kMost / 2; ++i) {
      Way way;
      for (const std::size_t count : counts_) way.push_back(random_() % count);
      ways_.push_back(way);
    }
  }

  static constexpr std::size_t kMost = testing::kIsSanitized ? 4 : 32;

  std::vector<std::size_t> counts_;
  std::vector<Way> ways_;
  std::size_t way_ = 0;
  Way picks_;
  std::minstd_rand random_;
};

/// Prepares a disk with `before`, lets `life` end at its n-th operation, and hands what is left to `look`: for all n,
/// for a kill, and for the power cuts that may follow; under a sanitizer for every third n. A life ends by an
/// exception, or goes on and gets nothing done. `look`'s second argument is false if the life came to its end before.
inline void end_at_each_operation(const std::function<void(testing::MemoryFileSystem&)>& before,
                                  const std::function<void(FileSystem&, testing::MemoryFileSystem&)>& life,
                                  const std::function<void(testing::MemoryFileSystem&, bool ended)>& look) {
  for (std::uint64_t n = 1;; n += testing::kIsSanitized ? 3 : 1) {
    const auto live = [&](testing::MemoryFileSystem& disk) {
      disk.make_directories("run");
      before(disk);
      disk.sync_directory("run");
      testing::FaultyFileSystem dying(disk);
      dying.fail_from(n);
      try {
        life(dying, disk);
      } catch (const DataLossError&) {
      } catch (const UnknownError&) {  // of a file that could not be read a second time
      }
      return dying.count() >= n;
    };
    bool ended = false;
    PowerCuts cuts;
    do {
      testing::MemoryFileSystem disk;
      ended = live(disk);
      disk.crash(cuts.choose());
      SCOPED_TRACE(fmt::format("the power goes at operation {}, choices{}", n, cuts.text()));
      look(disk, ended);
    } while (cuts.next());
    testing::MemoryFileSystem disk;
    ended = live(disk);
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
