// SPDX-License-Identifier: Apache-2.0
/// @file
/// Records byte for byte; record files that are whole, cut off, damaged, or still growing.
#include <trainhook/io/records.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/core/coding.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/io/crc32c.hpp>
#include <trainhook/io/posix_file_system.hpp>
#include <trainhook/io/whole_file.hpp>
#include <trainhook/testing/faulty_file_system.hpp>
#include <trainhook/testing/memory_file_system.hpp>

#include "damage.hpp"
#include "data_files.hpp"

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

std::string three_records() {
  std::string file;
  for (const char* payload : {"first", "", "third"}) detail::append_record(file, payload);
  return file;
}

class RecordReaderTest : public ::testing::Test {
 protected:
  detail::RecordReader reader_of(const std::string& contents) {
    disk_.write_file("run/records", contents);
    return detail::RecordReader(disk_.open_readable("run/records"));
  }

  testing::MemoryFileSystem disk_;
};

TEST_F(RecordReaderTest, GivesRecordsUntilTheCleanEnd) {
  detail::RecordReader reader = reader_of(three_records());
  std::vector<std::string> payloads;
  for (std::string payload; reader.next(payload);) payloads.push_back(payload);
  EXPECT_EQ(payloads, (std::vector<std::string>{"first", "", "third"}));
  EXPECT_EQ(reader.offset(), three_records().size());
}

TEST_F(RecordReaderTest, EveryTruncationGivesTheWholeRecordsAndSaysTruncated) {
  const std::string file = three_records();
  for (std::size_t size = 0; size < file.size(); ++size) {
    detail::RecordReader reader = reader_of(file.substr(0, size));
    std::string payload;
    detail::RecordStatus status = detail::RecordStatus::Record;
    while ((status = reader.try_next(payload)) == detail::RecordStatus::Record) {}
    const bool at_boundary = size == 0 || size == 21 || size == 37;
    EXPECT_EQ(status, at_boundary ? detail::RecordStatus::End : detail::RecordStatus::Truncated) << size;
  }
}

TEST_F(RecordReaderTest, EveryFlippedBitEndsInDataLossNamingFileAndOffset) {
  const std::string file = three_records();
  for (std::size_t bit = 0; bit < 8 * file.size(); ++bit) {
    detail::RecordReader reader = reader_of(testing::flipped(file, bit));
    const std::string offset = bit / 8 < 21 ? "byte 0" : bit / 8 < 37 ? "byte 21" : "byte 37";
    try {
      for (std::string payload; reader.next(payload);) {}
      FAIL() << bit;
    } catch (const DataLossError& error) {
      EXPECT_NE(std::string(error.what()).find("run/records"), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find(offset), std::string::npos) << error.what();
    }
  }
}

TEST_F(RecordReaderTest, ReadsAFileOfTensorFlowAndNeverTakesDamageForData) {
  std::string all_bytes;
  for (int i = 0; i < 256; ++i) all_bytes += static_cast<char>(i);
  const std::vector<std::string> expected = {"first", "", std::string(300, 'x'), all_bytes, "last"};
  const auto read = [&](const std::string& contents) {
    detail::RecordReader reader = reader_of(contents);
    std::vector<std::string> payloads;
    for (std::string payload; reader.next(payload);) payloads.push_back(payload);
    const bool begins_as_expected =
        payloads.size() <= 5 && std::equal(payloads.begin(), payloads.end(), expected.begin());
    EXPECT_TRUE(begins_as_expected);
    return begins_as_expected;
  };
  const std::string file = read_file(posix_file_system(), testing::data_file("records.tfrecord"));
  detail::RecordReader reader = reader_of(file);
  std::string payload;
  for (const std::string& record : expected) EXPECT_TRUE(reader.next(payload) && payload == record);
  EXPECT_FALSE(reader.next(payload));
  testing::expect_refused_or_same(file, "run/records", read);
}

TEST_F(RecordReaderTest, FollowsAFileThatGrows) {
  const std::string file = three_records();
  const auto writer = disk_.create_writable("records", WriteMode::Exclusive);
  detail::RecordReader reader(disk_.open_readable("records"));
  std::string payload;
  EXPECT_EQ(reader.try_next(payload), detail::RecordStatus::End);
  writer->append(std::string_view(file).substr(0, 15));
  EXPECT_EQ(reader.try_next(payload), detail::RecordStatus::Truncated);
  writer->append(std::string_view(file).substr(15));
  EXPECT_EQ(reader.try_next(payload), detail::RecordStatus::Record);
  EXPECT_EQ(payload, "first");
}

TEST_F(RecordReaderTest, AHugeLengthAllocatesNothing) {
  std::string header;
  detail::append_fixed(header, ~0ull);
  detail::append_fixed(header, crc32c::mask(crc32c::value(header)));
  detail::RecordReader reader = reader_of(header + "some bytes");
  std::string payload;
  EXPECT_EQ(reader.try_next(payload), detail::RecordStatus::Truncated);
  EXPECT_LT(payload.capacity(), 100u);
}

TEST_F(RecordReaderTest, AZeroFilledTailIsNotARecord) {
  detail::RecordReader reader = reader_of(std::string(64, '\0'));
  std::string payload;
  EXPECT_THROW(static_cast<void>(reader.try_next(payload)), DataLossError);
}

}  // namespace
}  // namespace trainhook
