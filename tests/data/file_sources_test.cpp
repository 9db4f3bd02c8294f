// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of datasets out of files.
#include <trainhook/data/file_sources.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <trainhook/io/record_writer.hpp>
#include <trainhook/testing/memory_file_system.hpp>
#include <trainhook/core/error.hpp>

#include "data_files.hpp"
#include "pipelines.hpp"

namespace th = trainhook;
using th::Dataset;
using th::DatasetIterator;
using Strings = std::vector<std::string>;

namespace {

class FileSources : public ::testing::Test {
 protected:
  static Strings texts(const std::vector<th::Element>& elements) {
    Strings result;
    for (const th::Element& element : elements) result.push_back(element[0].scalar<std::string>());
    return result;
  }
  void put_records(const std::string& path, const Strings& records) {
    const auto file = disk_.create_writable(path, th::WriteMode::Truncate);
    std::string bytes;
    for (const std::string& record : records) th::detail::append_record(bytes, record);
    file->append(std::as_bytes(std::span(bytes)));
    file->close();
  }

  th::testing::MemoryFileSystem disk_;
};

TEST_F(FileSources, GiveLinesWithoutTheirEnds) {
  disk_.write_file("/a", "one\ntwo\r\n\nlast");
  disk_.write_file("/b", "");
  disk_.write_file("/c", "\nend\n");
  EXPECT_EQ(texts(pipelines::all(th::text_line_dataset({"/a", "/b", "/c"}, disk_))),
            (Strings{"one", "two", "", "last", "", "end"}));
}

TEST_F(FileSources, GiveLinesLongerThanWhatIsReadAtOnce) {
  const Strings lines{std::string(200'000, 'x'), "y", std::string(65'536, 'z'), std::string(65'535, 'w')};
  disk_.write_file("/a", lines[0] + "\n" + lines[1] + "\n" + lines[2] + "\n" + lines[3] + "\n");
  EXPECT_EQ(texts(pipelines::all(th::text_line_dataset({"/a"}, disk_))), lines);
}

TEST_F(FileSources, GiveRecords) {
  put_records("/a", {"one", "", std::string(1'000, 'x')});
  put_records("/b", {"two"});
  EXPECT_EQ(texts(pipelines::all(th::tf_record_dataset({"/a", "/b"}, disk_))),
            (Strings{"one", "", std::string(1'000, 'x'), "two"}));
}

TEST_F(FileSources, GiveRecordsOfTensorFlow) {
  const Strings records = texts(pipelines::all(th::tf_record_dataset({th::testing::data_file("records.tfrecord")})));
  ASSERT_EQ(records.size(), 5U);
  EXPECT_EQ(records[0], "first");
  EXPECT_EQ(records[2], std::string(300, 'x'));
}

TEST_F(FileSources, ContinueWithTheNextElementWhereverTheyWereSaved) {
  disk_.write_file("/a", "1\n22\n\n4444");
  disk_.write_file("/b", "5\n");
  put_records("/c", {"1", "22", "", "4444"});
  put_records("/d", {"5"});
  for (const Dataset& dataset :
       {th::text_line_dataset({"/a", "/b"}, disk_), th::tf_record_dataset({"/c", "/d"}, disk_),
        th::tf_record_dataset({"/c", "/d"}, disk_).shuffle(3, 1).repeat(2).batch(2).prefetch(2)}) {
    const Strings expected = [&dataset] {
      Strings all;
      for (const th::Element& element : pipelines::all(dataset)) all.push_back(element[0].data<std::string>()[0]);
      return all;
    }();
    EXPECT_EQ(expected.size(), 5U);
    for (std::size_t consumed = 0; consumed <= expected.size(); ++consumed) {
      DatasetIterator original = dataset.make_iterator(), restored = dataset.make_iterator();
      (void)pipelines::some(original, static_cast<std::int64_t>(consumed));
      restored.restore(original.save());
      const std::vector<th::Element> rest = pipelines::rest(restored);
      ASSERT_EQ(rest.size(), expected.size() - consumed);
      for (std::size_t i = 0; i < rest.size(); ++i)
        EXPECT_EQ(rest[i][0].data<std::string>()[0], expected[consumed + i]);
    }
  }
}

TEST_F(FileSources, NameTheFileThatIsMissingOrDamaged) {
  const auto message = [](const Dataset& dataset) {
    try {
      (void)pipelines::all(dataset);
    } catch (const th::Error& error) { return std::string(th::error_code_name(error.code())) + " " + error.what(); }
    return std::string();
  };
  const std::string missing = message(th::text_line_dataset({"/none"}, disk_));
  EXPECT_TRUE(missing.starts_with("NotFound") && missing.find("/none") != std::string::npos) << missing;
  disk_.write_file("/bad", "this is not a file of records");
  const std::string damaged = message(th::tf_record_dataset({"/bad"}, disk_));
  EXPECT_TRUE(damaged.starts_with("DataLoss") && damaged.find("/bad") != std::string::npos) << damaged;
}

TEST_F(FileSources, RefuseAStateThatPointsBehindTheEndOfAFile) {
  disk_.write_file("/a", "one\ntwo\nthree\n");
  const Dataset dataset = th::text_line_dataset({"/a"}, disk_);
  DatasetIterator iterator = dataset.make_iterator();
  (void)pipelines::some(iterator, 2);
  const std::string state = iterator.save();
  disk_.write_file("/a", "one\n");
  EXPECT_THROW(dataset.make_iterator().restore(state), th::DataLossError);
}

}  // namespace
