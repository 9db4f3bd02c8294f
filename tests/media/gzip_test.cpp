// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of reading gzip files.
#include <trainhook/media/gzip.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <string>

#include <trainhook/io/posix_file_system.hpp>

#include "damage.hpp"
#include "media_files.hpp"

namespace trainhook {
namespace {

constexpr std::size_t kPlenty = std::size_t{1} << 20;

std::string read_back(const std::string& path, std::size_t max_size = kPlenty) {
  return read_gzip_file(posix_file_system(), path, max_size);
}

TEST(Gzip, GivesBackWhatWasCompressed) {
  const MediaFiles files;
  for (const std::size_t size : {0U, 1U, 65'535U, 65'536U, 65'537U, 300'000U}) {
    EXPECT_EQ(read_back(files.put("a.gz", gzip_of(noise(size)))), noise(size)) << size;
  }
  EXPECT_EQ(read_back(files.put("zeros.gz", gzip_of(std::string(900'000, '\0')))), std::string(900'000, '\0'));
}

TEST(Gzip, ReadsMembersInARowAsOne) {
  const MediaFiles files;
  EXPECT_EQ(read_back(files.put("a.gz", gzip_of("one ") + gzip_of("") + gzip_of("two"))), "one two");
}

TEST(Gzip, ReadsAStreamInPieces) {
  const MediaFiles files;
  const std::unique_ptr<ReadableFile> file = posix_file_system().open_readable(files.put("a.gz", gzip_of("abcdefgh")));
  GzipReader reader(*file);
  std::string piece(5, ' ');
  EXPECT_EQ(reader.read(std::as_writable_bytes(std::span(piece))), 5U);
  EXPECT_EQ(piece, "abcde");
  EXPECT_EQ(reader.read(std::as_writable_bytes(std::span(piece))), 3U);
  EXPECT_EQ(piece.substr(0, 3), "fgh");
  EXPECT_TRUE(reader.at_end());
}

TEST(Gzip, HoldsToTheBoundOfTheCaller) {
  const MediaFiles files;
  const std::string path = files.put("a.gz", gzip_of(std::string(100'000, 'x')));
  EXPECT_EQ(read_back(path, 100'000).size(), 100'000U);
  EXPECT_THROW(static_cast<void>(read_back(path, 99'999)), ResourceExhaustedError);
  EXPECT_THROW(static_cast<void>(read_back(path, 0)), ResourceExhaustedError);
  EXPECT_EQ(read_back(files.put("empty.gz", gzip_of("")), 0), "");
}

TEST(Gzip, RefusesAnyTruncation) {
  const MediaFiles files;
  const std::string bytes = gzip_of("some text that is worth a few bytes, a few bytes");
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_THROW(static_cast<void>(read_back(files.put("a.gz", bytes.substr(0, size)))), DataLossError) << size;
  }
}

TEST(Gzip, GivesTheSameBytesOrAnErrorForAnyFlippedBit) {
  const MediaFiles files;
  const std::string bytes = gzip_of(noise(60));
  int refused = 0;
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    const std::string path = files.put("a.gz", testing::flipped(bytes, bit));
    try {
      EXPECT_EQ(read_back(path), noise(60)) << bit;  // a time stamp or padding, which says nothing about the contents
    } catch (const DataLossError&) { ++refused; }
  }
  EXPECT_GT(refused, (60 + 8) * 8);
}

TEST(Gzip, RefusesWhatIsNotGzipOrFollowsIt) {
  const MediaFiles files;
  EXPECT_THROW(static_cast<void>(read_back(files.put("text", "plain text, nothing else"))), DataLossError);
  EXPECT_THROW(static_cast<void>(read_back(files.put("a.gz", gzip_of("one") + "garbage"))), DataLossError);
  EXPECT_THROW(static_cast<void>(read_back(files.directory() + "/none.gz")), NotFoundError);
}

TEST(Gzip, NamesTheFile) {
  const MediaFiles files;
  const std::string path = files.put("a.gz", gzip_of("hello").substr(0, 12));
  try {
    static_cast<void>(read_back(path));
    FAIL();
  } catch (const DataLossError& error) {
    EXPECT_TRUE(std::string(error.what()).starts_with(path + " is truncated")) << error.what();
  }
}

}  // namespace
}  // namespace trainhook
