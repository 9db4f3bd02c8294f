// SPDX-License-Identifier: Apache-2.0
/// @file
/// The order in which a directory's checkpoints are marked, listed and removed, and what a kill between two steps
/// leaves.
#include <trainhook/checkpoint/checkpoint_directory.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <trainhook/checkpoint/bundle/bundle_cleanup.hpp>
#include <trainhook/checkpoint/bundle/bundle_writer.hpp>
#include <trainhook/checkpoint/checkpoint_files.hpp>
#include <trainhook/checkpoint/checkpoint_state.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/testing/faulty_file_system.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/memory_file_system.hpp>

namespace trainhook::detail {
namespace {

using Strings = std::vector<std::string>;
using testing::FileOperation;

void write(FileSystem& disk, std::int64_t step) {
  BundleWriter writer(fmt::format("run/m-{}", step), {.file_system = &disk, .overwrite = true});
  writer.add("step", Tensor(step));
  writer.finish();
}

CheckpointDirectory::List steps(std::initializer_list<int> steps) {
  CheckpointDirectory::List list;
  for (const int step : steps) list.push_back({.prefix = fmt::format("run/m-{}", step)});
  return list;
}

Strings listed(FileSystem& disk) {
  const auto state = get_checkpoint_state(disk, "run");
  return state.value_or(CheckpointState{}).all_model_checkpoint_paths;
}

/// A new process: what it knows as its own stays if it is one of the newest two, and else goes.
void keep_two(FileSystem& disk, std::int64_t saves) {
  finish_interrupted_saves(disk, "run");
  CheckpointDirectory directory(disk, "run", "checkpoint", {});
  Strings own = directory.read().value_or(CheckpointState{}).all_model_checkpoint_paths;
  for (const std::string& prefix : directory.find_marked()) own.push_back(prefix);
  if (saves > 0) {
    const std::string prefix = fmt::format("run/m-{}", saves);
    directory.mark(prefix);
    write(disk, saves);
    own.push_back(prefix);
  }
  std::ranges::sort(own, {}, [](const std::string& prefix) { return step_of_checkpoint(prefix); });
  own.erase(std::unique(own.begin(), own.end()), own.end());
  CheckpointDirectory::List stays, goes;
  for (const std::string& prefix : own) {
    if (checkpoint_exists(disk, prefix)) stays.push_back({.prefix = prefix});
  }
  while (stays.size() > 2) {
    goes.push_back(stays.front());
    stays.erase(stays.begin());
  }
  directory.update(stays, goes, std::nullopt, [](const ListedCheckpoint&) {});
}

TEST(CheckpointDirectory, MarksListsRemovesAndListsAgain) {
  testing::MemoryFileSystem memory;
  for (const int step : {1, 2, 3}) write(memory, step);
  testing::FaultyFileSystem disk(memory);
  CheckpointDirectory directory(disk, "run", "checkpoint", {});
  Strings trace;
  disk.set_callback([&](FileOperation operation, const std::string& path) {
    if (operation == FileOperation::CreateWritable && path.find(".unlisted.") != std::string::npos)
      trace.push_back("mark " + path.substr(0, path.find(".index")));
    if (operation == FileOperation::Rename && path.starts_with("run/checkpoint")) trace.emplace_back("list");
    if (operation == FileOperation::Rename && path.starts_with("run/m-1.index"))
      trace.push_back(fmt::format("remove run/m-1, listed: {}", fmt::join(listed(memory), " ")));
    if (operation == FileOperation::RemoveFile && path.find(".unlisted.") != std::string::npos)
      trace.push_back(fmt::format("remove the mark, listed: {}", fmt::join(listed(memory), " ")));
  });
  directory.mark("run/m-3");
  CheckpointDirectory::List goes = steps({1});
  directory.update(steps({2, 3}), goes, std::nullopt,
                   [&](const ListedCheckpoint& removed) { trace.push_back("removed " + removed.prefix); });
  EXPECT_EQ(trace, (Strings{"mark run/m-3", "list", "remove run/m-1, listed: run/m-1 run/m-2 run/m-3",
                            "removed run/m-1", "list", "remove the mark, listed: run/m-2 run/m-3"}));
  EXPECT_TRUE(goes.empty());
  EXPECT_FALSE(directory.has_records());
}

TEST(CheckpointDirectory, WithoutARemovalListsOnce) {
  testing::MemoryFileSystem memory;
  write(memory, 1);
  testing::FaultyFileSystem disk(memory);
  CheckpointDirectory directory(disk, "run", "checkpoint", {});
  int lists = 0;
  disk.set_callback([&](FileOperation operation, const std::string& path) {
    if (operation == FileOperation::Rename && path.starts_with("run/checkpoint")) ++lists;
  });
  directory.mark("run/m-1");
  CheckpointDirectory::List goes;
  directory.update(steps({1}), goes, std::nullopt, [](const ListedCheckpoint&) {});
  EXPECT_EQ(lists, 1);
  EXPECT_TRUE(directory.lists(steps({1})));
  EXPECT_FALSE(directory.lists({}));
}

TEST(CheckpointDirectory, AfterAKillAtAnyCallTheNextProcessKnowsWhatIsItsOwn) {
  const testing::LogLines log;
  for (const int saved_before : {0, 1, 2}) {
    for (std::uint64_t call = 1;; ++call) {
      testing::MemoryFileSystem memory;
      memory.make_directories("run");
      for (int step = 1; step <= saved_before; ++step) keep_two(memory, step);
      testing::FaultyFileSystem disk(memory);
      disk.fail_from(call);
      bool is_through = true;
      try {
        keep_two(disk, saved_before + 1);
      } catch (const Error&) { is_through = false; }
      is_through = is_through && disk.count() < call;
      for (const std::string& prefix : listed(memory)) {
        if (prefix != listed(memory).back()) continue;
        EXPECT_TRUE(checkpoint_exists(memory, prefix)) << "killed at call " << call;
      }
      keep_two(memory, 0);
      EXPECT_EQ(listed(memory), checkpoints_on_disk(memory, "run", "m")) << "killed at call " << call;
      EXPECT_LE(listed(memory).size(), 2U) << "killed at call " << call;
      EXPECT_GE(listed(memory).size(), static_cast<std::size_t>(std::min(saved_before, 2)))
          << "killed at call " << call;
      for (const std::string& path : memory.files())
        EXPECT_EQ(path.find("tempstate"), std::string::npos) << path << ", killed at call " << call;
      if (is_through) break;
    }
  }
}

TEST(CheckpointDirectory, WhatCannotBeRemovedStaysListedAndIsTriedAgain) {
  testing::LogLines log;
  testing::MemoryFileSystem memory;
  for (const int step : {1, 2}) write(memory, step);
  testing::FaultyFileSystem disk(memory);
  disk.set_callback([](FileOperation operation, const std::string& path) {
    if (operation == FileOperation::Rename && path.starts_with("run/m-1.index")) throw PermissionDeniedError("no");
  });
  CheckpointDirectory directory(disk, "run", "checkpoint", {});
  CheckpointDirectory::List goes = steps({1});
  Strings removed;
  const auto note = [&](const ListedCheckpoint& one) { removed.push_back(one.prefix); };
  directory.update(steps({2}), goes, std::nullopt, note);
  EXPECT_EQ(listed(memory), (Strings{"run/m-1", "run/m-2"}));
  EXPECT_EQ(removed, Strings());
  EXPECT_EQ(log.count("W the old checkpoint run/m-1 could not be removed and is tried again at the next save"), 1U);
  disk.set_callback({});
  directory.update(steps({2}), goes, std::nullopt, note);
  EXPECT_EQ(listed(memory), (Strings{"run/m-2"}));
  EXPECT_EQ(removed, (Strings{"run/m-1"}));
}

TEST(CheckpointDirectory, IfAListedOneWithoutIndexCountsAsDamagedItIsNoLongerListedBeforeItGoes) {
  testing::MemoryFileSystem memory;
  write(memory, 1);
  CheckpointDirectory::List goes;
  CheckpointDirectory(memory, "run", "checkpoint", {}).update(steps({1}), goes, std::nullopt, [](const auto&) {});
  testing::FaultyFileSystem disk(memory);
  disk.set_callback([&](FileOperation operation, const std::string& path) {
    const bool removes = operation == FileOperation::Rename && path.starts_with("run/m-1.index");
    if (removes) { EXPECT_FALSE(memory.exists("run/checkpoint")); }
  });
  goes = steps({1});
  CheckpointDirectory(disk, "run", "checkpoint", {.lists_what_goes = false})
      .update({}, goes, std::nullopt, [](const auto&) {});
  EXPECT_EQ(memory.files(), Strings());
}

TEST(CheckpointDirectory, AMarkGoesIfItsCheckpointCouldNotBeSaved) {
  testing::MemoryFileSystem memory;
  CheckpointDirectory directory(memory, "run", "checkpoint", {});
  directory.mark("run/m-1");
  EXPECT_TRUE(directory.has_records());
  directory.unmark("run/m-1");
  EXPECT_FALSE(directory.has_records());
  EXPECT_EQ(memory.files(), Strings());
}

}  // namespace
}  // namespace trainhook::detail
