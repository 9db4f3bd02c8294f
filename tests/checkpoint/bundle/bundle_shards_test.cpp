// SPDX-License-Identifier: Apache-2.0
/// @file
/// BundleShards, through BundleReader: which data files are opened, and when a missing one is found.
#include <trainhook/checkpoint/bundle/bundle_shards.hpp>

#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/checkpoint/bundle/bundle_reader.hpp>
#include <trainhook/checkpoint/bundle/tensor_bundle_format.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/io/crc32c.hpp>
#include <trainhook/io/tables.hpp>
#include <trainhook/testing/faulty_file_system.hpp>
#include <trainhook/testing/memory_file_system.hpp>

namespace trainhook::detail {
namespace {

template <class Action>
std::string damage_of(Action&& action) {
  try {
    action();
  } catch (const DataLossError& error) { return error.what(); }
  return "no damage";
}

/// A checkpoint with a data file for each of the tensors "0", "1", ..., which are of 8 bytes.
class BundleShardsTest : public ::testing::Test {
 protected:
  static constexpr std::uint32_t kShards = 6;

  BundleShardsTest() {
    TableWriter table;
    table.add("", encode_bundle_header(kShards));
    for (std::uint32_t i = 0; i < kShards; ++i) {
      const std::string data(8, static_cast<char>('a' + i));
      table.add(std::to_string(i), encode_bundle_entry({.dtype = DType::UInt8,
                                                        .shape = Shape{8},
                                                        .shard_id = i,
                                                        .size = data.size(),
                                                        .crc32c = crc32c::mask(crc32c::value(data))}));
      disk.write_file(path(i), data);
    }
    disk.write_file("run/m.index", table.finish());
  }

  BundleReader open(BundleFiles files) { return BundleReader("run/m", {.file_system = &faulty, .files = files}); }
  static std::string path(std::uint32_t shard) { return bundle_data_path("run/m", shard, kShards); }
  static char first_of(const BundleReader& reader, std::uint32_t shard) {
    return static_cast<char>(reader.get_tensor(std::to_string(shard)).data<std::uint8_t>()[0]);
  }
  std::uint64_t opened() { return faulty.count(testing::FileOperation::OpenReadable) - 1; }  // less the index

  testing::MemoryFileSystem disk;
  testing::FaultyFileSystem faulty{disk};
};

TEST_F(BundleShardsTest, OpensOnlyThoseThatItReads) {
  const BundleReader reader = open(BundleFiles::Check);
  EXPECT_EQ(opened(), 0U);
  EXPECT_EQ(first_of(reader, 4), 'e');
  EXPECT_EQ(opened(), 1U);
  EXPECT_EQ(first_of(reader, 4), 'e');
  EXPECT_EQ(opened(), 1U);
  EXPECT_NO_THROW(reader.verify());
  EXPECT_EQ(opened(), kShards);
}

TEST_F(BundleShardsTest, FindsAtOnceWhatIsMissingOrTooShort) {
  for (const BundleFiles files : {BundleFiles::Check, BundleFiles::Hold}) {
    for (std::uint32_t shard = 0; shard < kShards; ++shard) {
      const std::string data = disk.contents(path(shard));
      disk.remove_file(path(shard));
      EXPECT_NE(damage_of([&] { open(files); }).find("incomplete: "), std::string::npos);
      EXPECT_NE(damage_of([&] { open(files); }).find(path(shard)), std::string::npos);
      disk.write_file(path(shard), data.substr(1));
      EXPECT_EQ(damage_of([&] { open(files); }),
                "checkpoint file " + path(shard) + " was cut off: it has 7 bytes of 8");
      disk.write_file(path(shard), data);
    }
  }
}

TEST_F(BundleShardsTest, ReadsAPartOfWhatAnotherOneHasChecked) {
  disk.remove_file(path(1));
  disk.write_file(path(2), "short");
  const BundleReader reader = open(BundleFiles::AsRead);
  EXPECT_EQ(first_of(reader, 0), 'a');
  EXPECT_EQ(faulty.count(testing::FileOperation::FileSize), 0U);
  EXPECT_NE(damage_of([&] { first_of(reader, 1); }).find(path(1)), std::string::npos);
  EXPECT_NE(damage_of([&] { first_of(reader, 2); }).find(path(2) + " was cut off"), std::string::npos);
}

TEST_F(BundleShardsTest, HoldsThemSoThatTheyCanBeDeleted) {
  const BundleReader holding = open(BundleFiles::Hold);
  EXPECT_EQ(opened(), kShards);
  const BundleReader reading = open(BundleFiles::Check);
  EXPECT_EQ(first_of(reading, 0), 'a');
  for (std::uint32_t shard = 0; shard < kShards; ++shard) disk.remove_file(path(shard));
  EXPECT_NO_THROW(holding.verify());
  EXPECT_EQ(first_of(reading, 0), 'a');
  EXPECT_NE(damage_of([&] { first_of(reading, 3); }).find(path(3)), std::string::npos);
}

TEST_F(BundleShardsTest, NamesTheFileInWhichATensorIsDamaged) {
  disk.write_file(path(3), "dddxdddd");
  const BundleReader reader = open(BundleFiles::Check);
  EXPECT_NE(damage_of([&] { reader.verify(); }).find("checkpoint file " + path(3) + " is damaged"), std::string::npos);
}

TEST_F(BundleShardsTest, AnOpenThatFailsIsTriedOnceMoreAndThenNoDamage) {
  const BundleReader reader = open(BundleFiles::Check);
  faulty.fail_at(testing::FileOperation::OpenReadable, 1, ErrorCode::DataLoss);
  EXPECT_EQ(first_of(reader, 2), 'c');
  faulty.fail_from(testing::FileOperation::OpenReadable, 1, ErrorCode::DataLoss);
  EXPECT_THROW(first_of(reader, 3), UnknownError);
  faulty.reset();
  EXPECT_EQ(first_of(reader, 3), 'd');
}

TEST_F(BundleShardsTest, ThreadsCanReadAtOnce) {
  const BundleReader reader = open(BundleFiles::Check);
  std::vector<std::string> read(4);
  std::vector<std::jthread> threads;
  for (std::string& all : read)
    threads.emplace_back([&] {
      for (std::uint32_t shard = 0; shard < kShards; ++shard) all.push_back(first_of(reader, shard));
    });
  threads.clear();
  EXPECT_EQ(read, std::vector<std::string>(4, "abcdef"));
}

}  // namespace
}  // namespace trainhook::detail
