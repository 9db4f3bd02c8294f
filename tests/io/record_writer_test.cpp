// SPDX-License-Identifier: Apache-2.0
/// @file
/// Records byte for byte.
#include <trainhook/io/record_writer.hpp>

#include <string>

#include <gtest/gtest.h>

#include <trainhook/testing/faulty_file_system.hpp>
#include <trainhook/testing/memory_file_system.hpp>

namespace trainhook {
namespace {

TEST(RecordWriter, WritesTensorFlowsBytes) {
  const std::string payload(
      "\x09\x00\x00\x00\x40\xfc\x54\xd9\x41\x1a\x0d"
      "brain.Event:2",
      24);
  testing::MemoryFileSystem disk;
  detail::RecordWriter writer(disk.create_writable("f", WriteMode::Exclusive));
  writer.write(payload);
  EXPECT_EQ(writer.size(), 40u);
  EXPECT_EQ(disk.contents("f"), std::string("\x18\0\0\0\0\0\0\0\xa3\x7f\x4b\x22", 12) + payload + "\xec\xed\x8f\x9d");
}

TEST(RecordWriter, NeedsOneWriteForARecordOrABatch) {
  testing::MemoryFileSystem disk;
  testing::FaultyFileSystem counted(disk);
  detail::RecordWriter writer(counted.create_writable("f", WriteMode::Exclusive));
  writer.write("one");
  EXPECT_EQ(counted.count(testing::FileOperation::Append), 1u);
  std::string batch;
  detail::append_record(batch, "two");
  detail::append_record(batch, "");
  writer.write_batch(batch);
  EXPECT_EQ(counted.count(testing::FileOperation::Append), 2u);
  EXPECT_EQ(writer.size(), 3u * 16 + 6);
}

}  // namespace
}  // namespace trainhook
