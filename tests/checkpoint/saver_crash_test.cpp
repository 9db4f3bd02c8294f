// SPDX-License-Identifier: Apache-2.0
/// @file
/// A process that saves and dies at each of its file operations, and the one that comes after it: which checkpoint it
/// finds, and that a directory holds what it should once that has saved as well.
#include <trainhook/checkpoint/saver.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/checkpoint/bundle/bundle_reader.hpp>
#include <trainhook/checkpoint/checkpoint_claim.hpp>
#include <trainhook/checkpoint/checkpoint_state.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/events/file_writer_cache.hpp>
#include <trainhook/session/hook_services.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/manual_clock.hpp>
#include <trainhook/testing/memory_file_system.hpp>

#include "crash_points.hpp"

namespace trainhook {
namespace {

using testing::MemoryFileSystem;
using Paths = std::vector<std::string>;

/// One disk, and the processes that train on it one after the other.
class SaverCrash : public ::testing::Test {
 protected:
  /// A process: locks the directory, then saves these steps. The tensor of a checkpoint says `step + version`.
  void process(FileSystem& file_system, MemoryFileSystem& disk, const std::vector<std::int64_t>& steps,
               double version = 0) {
    Graph graph;
    FileWriterCache writers({.file_system = &file_system, .clock = &clock_});
    detail::SessionServices services(file_system, clock_, writers);
    const auto claim = detail::claim_checkpoints(graph, services, {.directory = "run", .basename = "m"});
    Saver saver({.max_to_keep = 2, .file_system = &file_system, .clock = &clock_});
    for (const std::int64_t step : steps) {
      clock_.advance(std::chrono::seconds(1));
      disk.set_time(clock_.wall_seconds());
      saver.write({{{"w", Tensor(static_cast<double>(step) + version)}}},
                  {.save_path = "run/m", .global_step = step, .parts = version == 0 ? graph_ : detail::TakenParts()});
    }
  }

  /// What a restore would take, verified: the value of its tensor; -1 if there is nothing.
  static double restorable(FileSystem& disk) {
    for (const std::string& prefix : detail::checkpoint_candidates(disk, "run", "m")) {
      try {
        const BundleReader reader(prefix, {.file_system = &disk});
        reader.verify();
        return reader.get_tensor("w").scalar<double>();
      } catch (const NotFoundError&) {}  // listed, and removed: the next one
    }
    return -1;
  }

  static Paths files_of(const std::vector<std::int64_t>& steps, bool meta = true) {
    Paths files{"run/.checkpoint_lock", "run/checkpoint"};
    for (const std::int64_t step : steps) {
      files.push_back(fmt::format("run/m-{}.data-00000-of-00001", step));
      files.push_back(fmt::format("run/m-{}.index", step));
      if (meta) files.push_back(fmt::format("run/m-{}.meta", step));
    }
    return files;
  }

  void dying(const std::function<void(MemoryFileSystem&)>& before,
             const std::function<void(FileSystem&, MemoryFileSystem&)>& life,
             const std::function<void(MemoryFileSystem&)>& look) {
    const testing::LogLines log;
    support::end_at_each_operation(before, life, [&](MemoryFileSystem& disk, bool) { look(disk); });
  }

  testing::ManualClock clock_;
  detail::TakenParts graph_{std::make_shared<detail::SideFile>(".meta", "graph")};
};

TEST_F(SaverCrash, ASaveThatPushesOneOutEndsAnywhere) {
  dying(
      [&](MemoryFileSystem& disk) {
        process(disk, disk, {1, 2});
      },
      [&](FileSystem& dying, MemoryFileSystem& disk) { process(dying, disk, {3}); },
      [&](MemoryFileSystem& disk) {
        const double found = restorable(disk);
        EXPECT_TRUE(found == 2 || found == 3) << found;
        process(disk, disk, {});
        EXPECT_EQ(restorable(disk), found);
        process(disk, disk, {4});
        EXPECT_EQ(restorable(disk), 4);
        process(disk, disk, {5});
        EXPECT_EQ(disk.files(), files_of({4, 5}));
      });
}

TEST_F(SaverCrash, ASaveAgainOfTheNewestEndsAnywhere) {
  dying(
      [&](MemoryFileSystem& disk) {
        process(disk, disk, {1, 2});
      },
      [&](FileSystem& dying, MemoryFileSystem& disk) { process(dying, disk, {2}, 0.5); },
      [&](MemoryFileSystem& disk) {
        const double found = restorable(disk);
        EXPECT_TRUE(found == 2 || found == 2.5) << found;
        process(disk, disk, {});
        EXPECT_EQ(restorable(disk), found);
        EXPECT_EQ(disk.exists("run/m-2.meta"), found == 2) << "the one with .meta";
        process(disk, disk, {3, 4}, 0.25);
        EXPECT_EQ(disk.files(), files_of({3, 4}, false));
      });
}

TEST_F(SaverCrash, ASaveThatTheStateFileDoesNotListYetIsDoneAgain) {
  dying(
      [&](MemoryFileSystem& disk) {
        process(disk, disk, {1, 2});
      },
      [&](FileSystem& dying, MemoryFileSystem& disk) { process(dying, disk, {3}); },
      [&](MemoryFileSystem& disk) {
        process(disk, disk, {3, 4}, 0.5);  // as a run that goes on from the newest that was listed
        EXPECT_EQ(restorable(disk), 4.5);
        EXPECT_EQ(disk.files(), files_of({3, 4}, false));
      });
}

/// After the kill of a save, the newest committed checkpoint is known as the saver's own, whichever it is.
TEST_F(SaverCrash, WhatAProcessCommittedBeforeItEndedIsRemovedInItsTurn) {
  dying(
      [&](MemoryFileSystem& disk) {
        process(disk, disk, {1, 2});
      },
      [&](FileSystem& dying, MemoryFileSystem& disk) { process(dying, disk, {3}); },
      [&](MemoryFileSystem& disk) {
        process(disk, disk, {4, 5});
        EXPECT_EQ(disk.files(), files_of({4, 5}));
      });
}

TEST_F(SaverCrash, TheFirstSaveOfAllEndsAnywhere) {
  dying([](MemoryFileSystem&) {}, [&](FileSystem& dying, MemoryFileSystem& disk) { process(dying, disk, {1}); },
        [&](MemoryFileSystem& disk) {
          const double found = restorable(disk);
          EXPECT_TRUE(found == -1 || found == 1) << found;
          process(disk, disk, {});
          EXPECT_EQ(restorable(disk), found);
          process(disk, disk, {2});
          EXPECT_EQ(disk.files(), found == 1 ? files_of({1, 2}) : files_of({2})) << "it is known whose it is";
          process(disk, disk, {3});
          EXPECT_EQ(disk.files(), files_of({2, 3}));
        });
}

TEST_F(SaverCrash, NothingForeignIsTouchedWhereverAProcessEnds) {
  const Paths foreign{"run/m-7.data-00000-of-00001",
                      "run/m-7.index",  // a user's copy
                      "run/m-99.data-00000-of-00001",
                      "run/m-99.index",               // one under a higher number
                      "run/m-9.data-00000-of-00002",  // a copy in progress
                      "run/notes.txt"};
  const auto untouched = [&](MemoryFileSystem& disk) {
    for (const std::string& path : foreign) EXPECT_EQ(disk.contents(path), "theirs") << path;
  };
  dying(
      [&](MemoryFileSystem& disk) {
        process(disk, disk, {10, 11});
        for (const std::string& path : foreign) disk.write_file(path, "theirs");
      },
      [&](FileSystem& dying, MemoryFileSystem& disk) {
        process(dying, disk, {12, 13});
      },
      [&](MemoryFileSystem& disk) {
        untouched(disk);
        process(disk, disk, {14, 15});
        untouched(disk);
        EXPECT_THROW(process(disk, disk, {99}), FailedPreconditionError);
        untouched(disk);
        EXPECT_EQ(disk.files().size(), files_of({14, 15}).size() + foreign.size());
      });
}

}  // namespace
}  // namespace trainhook
