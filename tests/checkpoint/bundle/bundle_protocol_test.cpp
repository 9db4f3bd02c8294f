// SPDX-License-Identifier: Apache-2.0
/// @file
/// Saves, replacements and removals that stop at each of their file operations: what can be read then, and what the
/// next start makes of it.
#include <trainhook/checkpoint/bundle/bundle_protocol.hpp>

#include <array>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/checkpoint/bundle/bundle_cleanup.hpp>
#include <trainhook/checkpoint/bundle/bundle_reader.hpp>
#include <trainhook/checkpoint/bundle/bundle_writer.hpp>
#include <trainhook/checkpoint/checkpoint_files.hpp>
#include <trainhook/checkpoint/checkpoint_state.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/io/whole_file.hpp>
#include <trainhook/testing/faulty_file_system.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/memory_file_system.hpp>

#include "crash_points.hpp"

namespace trainhook {
namespace {

using detail::finish_interrupted_saves;
using detail::InterruptedSaves;
using support::end_at_each_operation;
using testing::FaultyFileSystem;
using testing::LogLines;
using testing::MemoryFileSystem;
using Paths = std::vector<std::string>;

/// How a bundle looks on disk.
struct Form {
  bool sharded = false;
  bool meta = false;
};

/// Writes `run/m-1`, whose tensors say `version`.
void write(FileSystem& disk, int version, Form form) {
  BundleWriter writer("run/m-1",
                      {.file_system = &disk, .overwrite = true, .shard_bytes = form.sharded ? std::uint64_t{1} : 0});
  writer.add("a", version);
  writer.add("b", version);
  if (form.meta) writer.add_side_file(".meta", "graph " + std::to_string(version));
  writer.finish();
}

Paths files_of(Form form) {
  Paths files;
  if (form.sharded) {
    files = {"run/m-1.data-00000-of-00002", "run/m-1.data-00001-of-00002"};
  } else {
    files = {"run/m-1.data-00000-of-00001"};
  }
  files.emplace_back("run/m-1.index");
  if (form.meta) files.emplace_back("run/m-1.meta");
  return files;
}

/// The version that a reader finds, all of it verified; 0 if there is no checkpoint.
int version_of(FileSystem& disk) {
  if (!checkpoint_exists(disk, "run/m-1")) {
    EXPECT_THROW(BundleReader("run/m-1", {.file_system = &disk}), NotFoundError);
    return 0;
  }
  EXPECT_EQ(checkpoints_on_disk(disk, "run"), Paths{"run/m-1"});
  const BundleReader reader("run/m-1", {.file_system = &disk});
  reader.verify();
  const int version = reader.get_tensor("a").scalar<std::int32_t>();
  EXPECT_EQ(reader.get_tensor("b").scalar<std::int32_t>(), version);
  return version;
}

TEST(BundleProtocol, KnowsItsOwnNames) {
  using detail::base_of_data;
  using detail::is_temporary_name;
  using detail::replaced_index;
  using detail::temporary_index;
  const std::string suffix = detail::bundle_temporary_suffix();
  for (const std::string& path :
       {"m-1.index" + suffix, detail::replaced_index_path("m-1", suffix), detail::temporary_data_path("m-1", 3, suffix),
        "m-1.meta" + suffix, "checkpoint" + detail::temporary_suffix()}) {
    EXPECT_TRUE(is_temporary_name(path)) << path;
    EXPECT_FALSE(path.ends_with(".index")) << "TensorFlow takes it for a checkpoint: " << path;
    EXPECT_FALSE(base_of_data(path)) << path;
  }
  for (const char* name : {"m-1.index", "m-1.tempstate", "m-1.tempstate1x", "checkpoint.tmp", ".tempstate1",
                           "m-1.index.tempstate5", "checkpoint.tmp0123456789abcdef"})
    EXPECT_FALSE(is_temporary_name(name)) << name;
  EXPECT_TRUE(detail::has_temporary_form("m-1.index.tempstate5")) << "of another program";
  EXPECT_EQ(temporary_index("m-1.index" + suffix)->base, "m-1");
  EXPECT_EQ(temporary_index("m-1.index" + suffix)->suffix, suffix);
  EXPECT_FALSE(temporary_index(detail::replaced_index_path("m-1", suffix)));
  EXPECT_FALSE(temporary_index(".index" + suffix));
  EXPECT_EQ(replaced_index(detail::replaced_index_path("m-1", suffix))->base, "m-1");
  EXPECT_FALSE(replaced_index("m-1.index" + suffix));
  EXPECT_EQ(detail::unlisted_index(detail::unlisted_index_path("m-1", suffix))->base, "m-1");
  EXPECT_TRUE(is_temporary_name(detail::unlisted_index_path("m-1", suffix)));
  EXPECT_EQ(base_of_data("a.data-b.data-00000-of-00001"), "a.data-b");
  for (const char* name : {"m.data-", "m.data-0-of-", "m.data-x-of-1", "m.index", "m.data-0-of-1.tempstate5"})
    EXPECT_FALSE(base_of_data(name)) << name;
}

TEST(BundleProtocol, ASaveThatEndsAnywhereLeavesNothingOrTheCheckpoint) {
  const Form form{.sharded = true, .meta = true};
  end_at_each_operation([](MemoryFileSystem&) {}, [&](FileSystem& disk, MemoryFileSystem&) { write(disk, 1, form); },
                        [&](MemoryFileSystem& disk, bool ended) {
                          const int version = version_of(disk);
                          EXPECT_TRUE(ended || version == 1);
                          const InterruptedSaves found = finish_interrupted_saves(disk, "run");
                          EXPECT_EQ(version_of(disk), version);
                          EXPECT_EQ(disk.files(), version == 1 ? files_of(form) : Paths{});
                          EXPECT_EQ(found.incomplete, Paths{});
                        });
}

TEST(BundleProtocol, AReplacementThatEndsAnywhereLeavesTheOldOrTheNew) {
  const std::vector<std::pair<Form, Form>> changes{{{}, {}},
                                                   {{.meta = true}, {.meta = true}},
                                                   {{.sharded = true, .meta = true}, {}},
                                                   {{}, {.sharded = true, .meta = true}},
                                                   {{.sharded = true, .meta = true}, {.sharded = true}}};
  for (const auto& [before, after] : changes) {
    std::set<int> seen;
    end_at_each_operation([&before = before](MemoryFileSystem& disk) { write(disk, 1, before); },
                          [&after = after](FileSystem& disk, MemoryFileSystem&) { write(disk, 2, after); },
                          [&, &before = before, &after = after](MemoryFileSystem& disk, bool ended) {
                            const int version = version_of(disk);
                            EXPECT_TRUE(version == 1 || version == 2) << version;
                            EXPECT_TRUE(ended || version == 2);
                            seen.insert(version);
                            finish_interrupted_saves(disk, "run");
                            EXPECT_EQ(version_of(disk), version);
                            const Form& form = version == 1 ? before : after;
                            EXPECT_EQ(disk.files(), files_of(form));
                            if (form.meta) {
                              EXPECT_EQ(disk.contents("run/m-1.meta"), "graph " + std::to_string(version));
                            }
                            disk.crash();
                            EXPECT_EQ(version_of(disk), version) << "what the next start did is durable";
                          });
    EXPECT_EQ(seen.size(), 2U);
  }
}

TEST(BundleProtocol, AnInterruptedReplacementMayBeReplacedWithoutAStartBetween) {
  end_at_each_operation([](MemoryFileSystem& disk) { write(disk, 1, {.sharded = true}); },
                        [](FileSystem& disk, MemoryFileSystem&) { write(disk, 2, {.meta = true}); },
                        [](MemoryFileSystem& disk, bool) {
                          const int version = version_of(disk);
                          FaultyFileSystem faulty(disk);
                          faulty.fail_at(testing::FileOperation::Append, 1);
                          EXPECT_THROW(write(faulty, 3, {}), ResourceExhaustedError);
                          EXPECT_EQ(version_of(disk), version);
                          write(disk, 4, {.sharded = true});
                          EXPECT_EQ(version_of(disk), 4);
                          finish_interrupted_saves(disk, "run");
                          EXPECT_EQ(version_of(disk), 4);
                          EXPECT_EQ(disk.files(), files_of({.sharded = true}));
                        });
}

TEST(BundleProtocol, TheNextStartMayEndAnywhereToo) {
  const Form form{.sharded = true, .meta = true};
  const auto nothing = [](FileSystem&) {};
  const auto save = [&](FileSystem& disk) { write(disk, 1, form); };
  const auto replace = [](FileSystem& disk) { write(disk, 2, {}); };
  const auto remove = [](FileSystem& disk) { remove_checkpoint(disk, "run/m-1"); };
  const std::vector<std::array<std::function<void(FileSystem&)>, 2>> lives{
      {nothing, save}, {save, replace}, {save, remove}};
  for (const auto& [before, first_life] : lives) {
    bool ended = true;
    for (std::uint64_t first = 1; ended && !::testing::Test::HasFailure(); ++first) {
      SCOPED_TRACE(fmt::format("the first life ends at operation {}", first));
      int version = 0;
      end_at_each_operation(
          [&, &before = before, &first_life = first_life](MemoryFileSystem& disk) {
            before(disk);
            FaultyFileSystem dying(disk);
            dying.fail_from(first);
            try {
              first_life(dying);
            } catch (const DataLossError&) {}
            ended = dying.count() >= first;
            version = version_of(disk);
            for (const std::string& path : disk.files()) disk.write_file(path, disk.contents(path));  // durably
          },
          [](FileSystem& disk, MemoryFileSystem&) {
            const testing::LogLines log;
            finish_interrupted_saves(disk, "run");
            for (int i = 0; i < 6; ++i) static_cast<void>(disk.exists("run"));  // a life of some length
          },
          [&](MemoryFileSystem& disk, bool) {
            EXPECT_EQ(version_of(disk), version);
            finish_interrupted_saves(disk, "run");
            EXPECT_EQ(version_of(disk), version);
            EXPECT_EQ(disk.files(), version == 0 ? Paths{} : files_of(version == 1 ? form : Form{}));
          });
    }
  }
}

TEST(BundleProtocol, AFailedReplacementLeavesTheOldOrTheNewAndNoTemporaries) {
  for (std::uint64_t n = 1;; ++n) {
    SCOPED_TRACE(n);
    MemoryFileSystem disk;
    const Form old{.sharded = true, .meta = true};
    write(disk, 1, old);
    FaultyFileSystem faulty(disk);
    faulty.fail_at(n);
    bool failed = false;
    try {
      write(faulty, 2, {});
    } catch (const ResourceExhaustedError&) { failed = true; }
    const int version = version_of(disk);
    EXPECT_TRUE(failed ? version == 1 || version == 2 : version == 2) << version;
    EXPECT_EQ(disk.files(), files_of(version == 1 ? old : Form{}));
    if (!failed) break;
  }
}

TEST(BundleProtocol, ARemovalThatEndsAnywhereIsFinishedByTheNextStart) {
  const Form form{.sharded = true, .meta = true};
  end_at_each_operation([&](MemoryFileSystem& disk) { write(disk, 1, form); },
                        [](FileSystem& disk, MemoryFileSystem&) { remove_checkpoint(disk, "run/m-1"); },
                        [&](MemoryFileSystem& disk, bool ended) {
                          const int version = version_of(disk);
                          EXPECT_TRUE(ended || version == 0);
                          const InterruptedSaves found = finish_interrupted_saves(disk, "run");
                          EXPECT_EQ(version_of(disk), version);
                          EXPECT_EQ(disk.files(), version == 1 ? files_of(form) : Paths{});
                          EXPECT_EQ(found.incomplete, Paths{});
                        });
}

TEST(BundleProtocol, WithoutItsNewIndexAReplacementIsLeftForAHuman) {
  MemoryFileSystem disk;
  write(disk, 1, {});
  disk.rename("run/m-1.index", "run/m-1.index.replaced.tempstate5");
  const Paths files = disk.files();
  LogLines log;
  const InterruptedSaves found = finish_interrupted_saves(disk, "run");
  EXPECT_EQ(disk.files(), files) << "nobody but a human can know what happened";
  EXPECT_EQ(log.count("run/m-1 is left as a writer that was killed left it"), 1U);
  EXPECT_EQ(found.replaced, Paths{});
}

}  // namespace
}  // namespace trainhook
