// SPDX-License-Identifier: Apache-2.0
/// @file
/// Writing safetensors files: their bytes, names and shards, and that nothing half written is ever there.
#include <trainhook/exchange/write_safetensors.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <trainhook/checkpoint/bundle/bundle_writer.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/exchange/safetensors_reader.hpp>
#include <trainhook/testing/faulty_file_system.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/memory_file_system.hpp>

#include "exchange_files.hpp"
#include "expect_error.hpp"

namespace trainhook {
namespace {

using support::safetensors_file;
using ::testing::ElementsAre;
using testing::expect_error;
using testing::FaultyFileSystem;
using ::testing::IsEmpty;
using testing::LogLines;
using testing::MemoryFileSystem;

std::vector<std::string> names_in(MemoryFileSystem& disk, const std::string& path) {
  std::vector<std::string> names;
  const SafetensorsReader reader(path, {.file_system = &disk});
  for (const auto& [name, entry] : reader.entries()) names.push_back(name);
  return names;
}

/// A checkpoint of tensors, a text and the state of a hook.
BundleReader checkpoint(MemoryFileSystem& disk) {
  BundleWriter writer("run/m-1", {.file_system = &disk});
  writer.add("net/w", Tensor::of<float>({1, 2, 3}));
  writer.add("net/n", Tensor::of<std::int32_t>({4}));
  writer.add("global_step", Tensor(std::int64_t{1}));
  writer.add("text", Tensor("abc"));
  writer.add("_trainhook/hooks/Timer/steps", Tensor(std::int64_t{5}));
  writer.add_slice("net/parts", Shape{2}, {{0, 1}}, Tensor::of<double>({6}));
  writer.add_slice("net/parts", Shape{2}, {{1, 1}}, Tensor::of<double>({7}));
  writer.finish();
  return BundleReader("run/m-1", {.file_system = &disk});
}

TEST(WriteSafetensors, WritesLargeElementsFirstThenByName) {
  MemoryFileSystem disk;
  write_safetensors("m",
                    {{"b", Tensor::of<std::uint8_t>({7})},
                     {"c", Tensor::of<std::int64_t>({2})},
                     {"a", Tensor::of<std::int64_t>({1})}},
                    {.metadata = {{"format", "pt"}}, .file_system = &disk});
  EXPECT_EQ(
      disk.contents("m"),
      safetensors_file(
          R"({"__metadata__":{"format":"pt"},"a":{"dtype":"I64","shape":[1],"data_offsets":[0,8]},)"
          R"("c":{"dtype":"I64","shape":[1],"data_offsets":[8,16]},"b":{"dtype":"U8","shape":[1],"data_offsets":[16,17]}})"
          "       ",
          std::string_view("\1\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0\7", 17)));
  write_safetensors("empty", std::vector<NamedTensor>{}, {.file_system = &disk});
  EXPECT_EQ(disk.contents("empty"), safetensors_file("{}      "));
}

TEST(WriteSafetensors, ReadsBackEveryDtypeOfTheFormat) {
  MemoryFileSystem disk;
  std::vector<NamedTensor> tensors;
  for (const detail::SafetensorsDType& one : detail::kSafetensorsDTypes) {
    if (one.dtype != DType::Invalid) tensors.push_back({std::string(one.name), Tensor(one.dtype, Shape{2, 3})});
  }
  ASSERT_EQ(tensors.size(), 14u);
  write_safetensors("m", tensors, {.file_system = &disk});
  const SafetensorsReader reader("m", {.file_system = &disk});
  for (const auto& [name, tensor] : tensors) EXPECT_EQ(reader.get_tensor(name), tensor) << name;
}

TEST(WriteSafetensors, WritesACheckpointAndNamesWhatItLeavesOut) {
  MemoryFileSystem disk;
  const LogLines log;
  const auto left_out = write_safetensors("out/m", checkpoint(disk),
                                          {.rename = {{"net/", ""}}, .dtype = DType::BFloat16, .file_system = &disk});
  EXPECT_THAT(left_out, ElementsAre("_trainhook/hooks/Timer/steps", "text"));
  EXPECT_EQ(log.count("out/m: left out of checkpoint run/m-1"), 1u);
  const SafetensorsReader reader("out/m", {.file_system = &disk});
  EXPECT_THAT(names_in(disk, "out/m"), ElementsAre("global_step", "n", "parts", "w"));
  EXPECT_EQ(reader.get_tensor("w"), Tensor::of<BFloat16>({{0x3f80}, {0x4000}, {0x4040}}));
  EXPECT_EQ(reader.get_tensor("parts"), Tensor::of<BFloat16>({{0x40c0}, {0x40e0}}));
  EXPECT_EQ(reader.get_tensor("n"), Tensor::of<std::int32_t>({4}));
}

TEST(WriteSafetensors, CastsALargeTensorInPieces) {
  MemoryFileSystem disk;
  Tensor large(DType::Float, Shape{200'000});
  for (std::size_t i = 0; i < 200'000; ++i) large.mutable_data<float>()[i] = static_cast<float>(i % 251);
  write_safetensors("half", {{"w", large}}, {.dtype = DType::Half, .file_system = &disk});
  write_safetensors("float", {{"w", read_safetensors("half", {.file_system = &disk}).at("w")}},
                    {.dtype = DType::Float, .file_system = &disk});
  EXPECT_EQ(read_safetensors("float", {.file_system = &disk}).at("w"), large);
}

TEST(WriteSafetensors, WritesOnlyWhatItIsAskedFor) {
  MemoryFileSystem disk;
  EXPECT_THAT(write_safetensors("all", checkpoint(disk), {.only = "net/", .file_system = &disk}), IsEmpty());
  EXPECT_THAT(names_in(disk, "all"), ElementsAre("net/n", "net/parts", "net/w"));
  write_safetensors("m", {{"a/b", Tensor(1.0F)}, {"b", Tensor("text")}},
                    {.only = "a/", .rename = {{"a/", ""}}, .file_system = &disk});
  EXPECT_THAT(names_in(disk, "m"), ElementsAre("b"));
}

TEST(WriteSafetensors, WhatOnlyOrRenameAsksForHasToBeThere) {
  MemoryFileSystem disk;
  expect_error<NotFoundError>({"no name of a tensor begins with 'nett/', which `only` asks for", "net/w"}, [&] {
    write_safetensors("m", checkpoint(disk), {.only = "nett/", .file_system = &disk});
  });
  expect_error<NotFoundError>({"no name of a tensor begins with 'b', which `rename` asks for"}, [&] {
    write_safetensors("m", {{"a/w", Tensor(1.0F)}, {"b", Tensor(1.0F)}},
                      {.only = "a/", .rename = {{"b", "c"}}, .file_system = &disk});
  });
  EXPECT_FALSE(disk.exists("m"));
}

TEST(WriteSafetensors, TakesTheFirstRenameThatFits) {
  MemoryFileSystem disk;
  write_safetensors("m", {{"a/b", Tensor(1.0F)}, {"a/c", Tensor(1.0F)}, {"d", Tensor(1.0F)}},
                    {.rename = {{"a/b", "x"}, {"a/", "y."}, {"", "model."}}, .file_system = &disk});
  EXPECT_THAT(names_in(disk, "m"), ElementsAre("model.d", "x", "y.c"));
}

TEST(WriteSafetensors, RefusesWhatTheFormatCannotHold) {
  MemoryFileSystem disk;
  const auto write = [&](const std::vector<NamedTensor>& tensors, SafetensorsOptions options = {}) {
    return [&disk, tensors, options]() mutable {
      options.file_system = &disk;
      write_safetensors("m", tensors, options);
    };
  };
  expect_error({"tensor 's' is string"}, write({{"s", Tensor("text")}}));
  expect_error({"tensor 'c' is complex128"}, write({{"c", Tensor(DType::Complex128, Shape{})}}));
  expect_error({"tensor 'i' is invalid"}, write({{"i", Tensor()}}));
  expect_error({"'a/w' and 'b/w' would both be called 'w'"},
               write({{"a/w", Tensor(1.0F)}, {"b/w", Tensor(1.0F)}}, {.rename = {{"a/", ""}, {"b/", ""}}}));
  expect_error({"a tensor cannot be called '__metadata__'"}, write({{"__metadata__", Tensor(1.0F)}}));
  expect_error({"is not UTF-8"}, write({{"\xff", Tensor(1.0F)}}));
  expect_error({"is not UTF-8"}, write({}, {.metadata = {{"a", "\xff"}}}));
  expect_error({"dtype is int32"}, write({}, {.dtype = DType::Int32}));
  EXPECT_THAT(disk.files(), IsEmpty());
}

TEST(WriteSafetensors, ReplacesNoFileOfAnotherProgram) {
  MemoryFileSystem disk;
  disk.write_file("m", "important and long enough");
  expect_error<FailedPreconditionError>({"m is not replaced"}, [&] {
    write_safetensors("m", {{"a", Tensor(1.0F)}}, {.file_system = &disk});
  });
  EXPECT_EQ(disk.contents("m"), "important and long enough");
}

const std::vector<NamedTensor> kThree{
    {"a", Tensor::of<float>({1, 2})}, {"b", Tensor::of<float>({3})}, {"c", Tensor::of<float>({4, 5, 6, 7})}};

TEST(WriteSafetensors, CutsIntoShardsInTheOrderOfNames) {
  MemoryFileSystem disk;
  write_safetensors("run/m.safetensors", kThree, {.max_shard_size = 12, .file_system = &disk});
  EXPECT_THAT(disk.files(), ElementsAre("run/m-00001-of-00002.safetensors", "run/m-00002-of-00002.safetensors",
                                        "run/m.safetensors.index.json"));
  EXPECT_EQ(disk.contents("run/m.safetensors.index.json"), R"({
  "metadata": {
    "total_size": 28
  },
  "weight_map": {
    "a": "m-00001-of-00002.safetensors",
    "b": "m-00001-of-00002.safetensors",
    "c": "m-00002-of-00002.safetensors"
  }
}
)");
  EXPECT_EQ(SafetensorsReader("run/m.safetensors", {.file_system = &disk}).get_tensor("c"), kThree[2].tensor);
  write_safetensors("run/one.safetensors", kThree, {.max_shard_size = 28, .file_system = &disk});
  EXPECT_TRUE(disk.exists("run/one.safetensors"));
}

TEST(WriteSafetensors, ShardsReplaceNothing) {
  MemoryFileSystem disk;
  const auto shards = [&](const std::string& path) {
    return [&disk, path] { write_safetensors(path, kThree, {.max_shard_size = 1, .file_system = &disk}); };
  };
  shards("m")();
  expect_error<AlreadyExistsError>({"m.index.json exists", "give another name"}, shards("m"));
  write_safetensors("n", kThree, {.file_system = &disk});
  expect_error<AlreadyExistsError>({"n exists"}, shards("n"));
}

/// Calls `write` with a disk whose n-th operation fails, for each n until none does, and `check` after each.
template <class Write, class Check>
void with_each_failure(MemoryFileSystem& disk, const Write& write, const Check& check) {
  for (std::uint64_t n = 1;; ++n) {
    FaultyFileSystem faulty(disk);
    faulty.fail_at(n);
    bool failed = false;
    try {
      write(faulty);
    } catch (const Error&) { failed = true; }
    check(n);
    if (!failed && faulty.count() < n) return;
    ASSERT_LT(n, 1000u);
  }
}

TEST(WriteSafetensors, LeavesTheOldFileOrTheNewOneAfterEachFailure) {
  MemoryFileSystem disk;
  write_safetensors("m", {{"w", Tensor(1.0F)}}, {.file_system = &disk});
  with_each_failure(
      disk, [](FileSystem& faulty) { write_safetensors("m", kThree, {.file_system = &faulty}); },
      [&](std::uint64_t n) {
        EXPECT_THAT(disk.files(), ElementsAre("m")) << n;
        const auto names = names_in(disk, "m");
        EXPECT_TRUE(names == std::vector<std::string>{"w"} || names.size() == 3) << n;
        write_safetensors("m", {{"w", Tensor(1.0F)}}, {.file_system = &disk});
      });
}

TEST(WriteSafetensors, HasAnIndexOnlyOfWholeShardsAfterEachFailureAndPowerCut) {
  for (const bool with_power_cut : {false, true}) {
    std::size_t indices = 0;
    MemoryFileSystem disk;
    with_each_failure(
        disk,
        [](FileSystem& faulty) { write_safetensors("run/m", kThree, {.max_shard_size = 1, .file_system = &faulty}); },
        [&](std::uint64_t n) {
          if (with_power_cut) disk.crash();
          if (disk.exists("run/m.index.json")) {
            ++indices;
            EXPECT_EQ(read_safetensors("run/m", {.file_system = &disk}).size(), 3u) << n;
            disk.remove_file("run/m.index.json");
          }
          EXPECT_FALSE(disk.exists("run/m"));
        });
    EXPECT_GT(indices, 0u);
  }
}

TEST(WriteSafetensors, IsThereAfterAPowerCut) {
  MemoryFileSystem disk;
  write_safetensors("run/m", kThree, {.file_system = &disk});
  disk.crash();
  EXPECT_EQ(read_safetensors("run/m", {.file_system = &disk}).size(), 3u);
}

}  // namespace
}  // namespace trainhook
