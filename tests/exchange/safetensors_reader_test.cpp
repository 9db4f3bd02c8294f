// SPDX-License-Identifier: Apache-2.0
/// @file
/// Reading safetensors files: elements, regions, shards, and such a file in the place of a checkpoint.
#include <trainhook/exchange/safetensors_reader.hpp>

#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <trainhook/compat/init_from_checkpoint.hpp>
#include <trainhook/checkpoint/saver.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/exchange/write_safetensors.hpp>
#include <trainhook/loop/loop_session.hpp>
#include <trainhook/testing/memory_file_system.hpp>

#include "damage.hpp"
#include "exchange_files.hpp"
#include "expect_error.hpp"

namespace trainhook {
namespace {

using support::safetensors_file;
using ::testing::ElementsAre;
using testing::expect_error;
using testing::MemoryFileSystem;
using ::testing::Pair;

const std::string kTwo = safetensors_file(
    R"({"a": {"dtype":"I32","shape":[2,2],"data_offsets":[0,16]}, "b": {"dtype":"BOOL","shape":[2],"data_offsets":[16,18]}})",
    std::string_view("\1\0\0\0\2\0\0\0\3\0\0\0\4\0\0\0\1\0", 18));

TEST(SafetensorsReader, ReadsTensorsAndRegions) {
  MemoryFileSystem disk;
  disk.write_file("m", kTwo);
  const SafetensorsReader reader("m", {.file_system = &disk});
  EXPECT_EQ(reader.get_tensor("a"), Tensor::of<std::int32_t>({1, 2, 3, 4}, {2, 2}));
  EXPECT_EQ(reader.get_tensor("b"), Tensor::of<bool>({true, false}));
  EXPECT_EQ(reader.get_tensor("a", {{}, {1, 1}}), Tensor::of<std::int32_t>({2, 4}, {2, 1}));
  EXPECT_EQ(reader.get_tensor("a", {{1, 1}, {}}), Tensor::of<std::int32_t>({3, 4}, {1, 2}));
  EXPECT_THROW(static_cast<void>(reader.get_tensor("a", {{1, 2}, {}})), InvalidArgumentError);
  expect_error<NotFoundError>({"safetensors file m has no tensor c", "a, b"},
                              [&] { static_cast<void>(reader.get_tensor("c")); });
  EXPECT_THAT(read_safetensors("m", {.file_system = &disk}),
              ElementsAre(Pair("a", reader.get_tensor("a")), Pair("b", reader.get_tensor("b"))));
}

TEST(SafetensorsReader, ReadsOnAfterTheFileWasReplaced) {
  MemoryFileSystem disk;
  write_safetensors("m", {{"a", Tensor(1.0F)}}, {.file_system = &disk});
  const SafetensorsReader reader("m", {.file_system = &disk});
  write_safetensors("m", {{"a", Tensor(2.0F)}}, {.file_system = &disk});
  EXPECT_EQ(reader.get_tensor("a"), Tensor(1.0F));
}

TEST(SafetensorsReader, NamesTheTensorThatCannotBeRead) {
  MemoryFileSystem disk;
  disk.write_file(
      "m",
      safetensors_file(
          R"({"x": {"dtype":"F8_E5M2","shape":[1],"data_offsets":[0,1]}, "y": {"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
          "ab"));
  const SafetensorsReader reader("m", {.file_system = &disk});
  EXPECT_EQ(reader.get_tensor("y"), Tensor::of<std::uint8_t>({'b'}));
  expect_error<UnimplementedError>({"tensor 'x' of safetensors file m", "F8_E5M2", "convert it"},
                                   [&] { static_cast<void>(reader.get_tensor("x")); });
  EXPECT_THROW(static_cast<void>(read_safetensors("m", {.file_system = &disk})), UnimplementedError);
}

TEST(SafetensorsReader, RefusesBooleansThatAreNeither) {
  MemoryFileSystem disk;
  disk.write_file("m", safetensors_file(R"({"b": {"dtype":"BOOL","shape":[2],"data_offsets":[0,2]}})", "\1\2"));
  expect_error<DataLossError>({"safetensors file m", "tensor 'b'", "neither 0 nor 1"},
                              [&] { static_cast<void>(read_safetensors("m", {.file_system = &disk})); });
}

TEST(SafetensorsReader, RefusesOrReadsADamagedFile) {
  testing::expect_refused_or_read(kTwo, "m", [](const std::string& contents) {
    MemoryFileSystem disk;
    disk.write_file("m", contents);
    return read_safetensors("m", {.file_system = &disk});
  });
}

/// Two shards and their index.
void write_shards(MemoryFileSystem& disk) {
  disk.write_file(
      "run/1.safetensors",
      safetensors_file(R"({"__metadata__": {"format": "pt"}, "a": {"dtype":"U8","shape":[],"data_offsets":[0,1]}})",
                       "1"));
  disk.write_file("run/2.safetensors",
                  safetensors_file(R"({"b": {"dtype":"U8","shape":[],"data_offsets":[0,1]}})", "2"));
  disk.write_file("run/m.safetensors.index.json",
                  R"({"metadata": {"total_size": 2}, "weight_map": {"a": "1.safetensors", "b": "2.safetensors"}})");
}

TEST(SafetensorsReader, ReadsShardsByTheirIndexOrByTheNameOfTheWhole) {
  MemoryFileSystem disk;
  write_shards(disk);
  for (const char* path : {"run/m.safetensors.index.json", "run/m.safetensors"}) {
    const SafetensorsReader reader(path, {.file_system = &disk});
    EXPECT_EQ(reader.get_tensor("a"), Tensor(std::uint8_t{'1'}));
    EXPECT_EQ(reader.get_tensor("b"), Tensor(std::uint8_t{'2'}));
    EXPECT_THAT(reader.metadata(), ElementsAre(Pair("format", "pt")));
  }
}

TEST(SafetensorsReader, SaysWhichShardIsMissingOrLacksATensor) {
  MemoryFileSystem disk;
  write_shards(disk);
  const auto open = [&] { static_cast<void>(SafetensorsReader("run/m.safetensors", {.file_system = &disk})); };
  disk.write_file("run/2.safetensors", safetensors_file("{}"));
  expect_error<DataLossError>(
      {"index run/m.safetensors.index.json", "it has tensor 'b' in 2.safetensors, which lacks it"}, open);
  disk.remove_file("run/2.safetensors");
  expect_error<NotFoundError>({"run/2.safetensors"}, open);
  expect_error<NotFoundError>({"nothing.safetensors"}, [&] {
    static_cast<void>(SafetensorsReader("nothing.safetensors", {.file_system = &disk}));
  });
}

TEST(Safetensors, InitializesVariablesOfALoop) {
  MemoryFileSystem disk;
  write_safetensors("pretrained.safetensors",
                    {{"encoder.weight", Tensor::of<float>({1, 2})}, {"other", Tensor::of<float>({3, 4})}},
                    {.file_system = &disk});
  std::vector<float> weights(2);
  LoopSession loop;
  loop.variable("net/encoder", weights);
  init_from_checkpoint(loop, disk, safetensors("pretrained.safetensors"), {{"encoder.weight", "net/encoder"}});
  EXPECT_THAT(weights, ElementsAre(1, 2));
  expect_error({"tensor 'encoder', for variable 'net/encoder', is not found in checkpoint pretrained.safetensors",
                "encoder.weight"},
               [&] {
                 init_from_checkpoint(loop, disk, safetensors("pretrained.safetensors"), {{"encoder", "net/encoder"}});
               });
}

TEST(Safetensors, IsACheckpointForASaver) {
  MemoryFileSystem disk;
  write_safetensors("m.safetensors", {{"w", Tensor::of<float>({1, 2})}, {"global_step", Tensor(std::int64_t{7})}},
                    {.file_system = &disk});
  std::vector<float> weights(2), more(1);
  LoopSession loop;
  loop.variable("w", weights);
  Saver saver({.file_system = &disk});
  saver.restore(loop, safetensors("m.safetensors"));
  EXPECT_THAT(weights, ElementsAre(1, 2));
  EXPECT_EQ(loop.global_step(), 7);
  LoopSession other;
  other.variable("w", weights);
  other.variable("more", more);
  expect_error<NotFoundError>({"safetensors file m.safetensors has no tensor 'more'", "RestoreRules"},
                              [&] { saver.restore(other, safetensors("m.safetensors")); });
}

}  // namespace
}  // namespace trainhook
