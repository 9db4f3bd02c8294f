// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of datasets out of files.
#include <trainhook/data/file_sources.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <fmt/format.h>

#include <trainhook/core/error.hpp>
#include <trainhook/io/records.hpp>
#include <trainhook/testing/faulty_file_system.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/memory_file_system.hpp>

#include "data_files.hpp"
#include "hex.hpp"
#include "pipelines.hpp"

namespace th = trainhook;
using ::testing::HasSubstr;
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

  /// The position in a single file, with the line "1", as an earlier version of the library saved it.
  static std::string version_1_after_one_line() {
    return th::support::bytes(
        "544864731a06f8cf01010508706970656c696e650101021a746578745f6c696e655f646174617365745b312066696c65735d0601000505"
        "73746174650100010206");
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
  const Dataset shorter = th::text_line_dataset({"/a"}, disk_);
  EXPECT_THROW(shorter.make_iterator().restore(state), th::InvalidArgumentError);
  EXPECT_THROW(shorter.allow_changed_sources().make_iterator().restore(state), th::InvalidArgumentError);
  const std::string without_sources = version_1_after_one_line();
  disk_.write_file("/a", "");
  EXPECT_THROW(shorter.make_iterator().restore(without_sources), th::DataLossError);
}

TEST_F(FileSources, RefuseAPositionInOtherFilesAndNameTheFirst) {
  for (const char* folder : {"/old", "/moved"}) {
    for (const char* name : {"a", "b", "c"}) disk_.write_file(fmt::format("{}/{}", folder, name), "1\n2\n3\n");
  }
  disk_.write_file("/longer/b", "1\n2\n3\n4\n");
  const auto lines = [this](const Strings& paths) { return th::text_line_dataset(paths, disk_); };
  DatasetIterator iterator = lines({"/old/a", "/old/b"}).repeat().make_iterator();
  (void)pipelines::some(iterator, 2);
  const std::string state = iterator.save();
  const auto restore = [&state](const Dataset& dataset) -> std::string {
    try {
      dataset.repeat().make_iterator().restore(state);
    } catch (const th::InvalidArgumentError& error) { return error.what(); }
    return "restored";
  };
  EXPECT_EQ(restore(lines({"/moved/a", "/moved/b"})), "restored");
  EXPECT_EQ(restore(lines({"/moved/a", "/gone/b"})), "restored") << "the error comes when the file is wanted";
  EXPECT_THAT(restore(lines({"/old/b", "/old/a"})), HasSubstr("source 1 was a of 6 bytes, here it is b of 6 bytes"));
  EXPECT_THAT(restore(lines({"/old/a", "/old/c"})), HasSubstr("source 2 was b of 6 bytes, here it is c of 6 bytes"));
  EXPECT_THAT(restore(lines({"/old/a", "/longer/b"})), HasSubstr("source 2 was b of 6 bytes, here it is b of 8"));
  EXPECT_THAT(restore(lines({"/old/a", "/old/b", "/old/c"})), HasSubstr("here it is text_line_dataset[3 files]"));
  EXPECT_THAT(restore(lines({"/old/b", "/old/a"})), HasSubstr("allow_changed_sources()"));
  EXPECT_THAT(restore(lines({"/old/a", "/old/b", "/old/c"})), HasSubstr("allow_changed_sources()"));
}

TEST_F(FileSources, GoOnInChangedFilesWithAWarningIfThatIsAllowed) {
  for (const char* name : {"/a", "/b", "/c"}) disk_.write_file(name, fmt::format("{0}1\n{0}2\n", name));
  const auto numbers = [this](const Strings& paths) { return th::text_line_dataset(paths, disk_).batch(1); };
  DatasetIterator iterator = numbers({"/a", "/b"}).make_iterator();
  (void)pipelines::some(iterator, 3);
  const std::string state = iterator.save();
  for (const Strings& paths : {Strings{"/a", "/c"}, Strings{"/a", "/b", "/c"}}) {
    th::testing::LogLines log;
    DatasetIterator resumed = numbers(paths).allow_changed_sources().make_iterator();
    resumed.restore(state);
    EXPECT_EQ(log.count("W the input pipeline reads other data than when its state was saved: source"), 1U);
    th::Element element;
    ASSERT_TRUE(resumed.next(element));
    EXPECT_EQ(element[0].data<std::string>()[0], paths[1] + "2");
  }
  th::testing::LogLines log;
  numbers({"/a", "/b"}).allow_changed_sources().make_iterator().restore(state);
  EXPECT_TRUE(log.lines.empty());
}

TEST_F(FileSources, AreComparedInTheDatasetsThatInterleaveHasOpenToo) {
  disk_.write_file("/a", "1\n2\n3\n");
  const Dataset dataset = Dataset::from_tensors({th::Tensor("/a")}).interleave([this](const th::Element& path) {
    return th::text_line_dataset({path[0].scalar<std::string>()}, disk_);
  });
  DatasetIterator iterator = dataset.make_iterator();
  (void)pipelines::some(iterator, 1);
  const std::string state = iterator.save();
  dataset.make_iterator().restore(state);
  disk_.write_file("/a", "1\n2\n");
  EXPECT_THROW(dataset.make_iterator().restore(state), th::InvalidArgumentError);
  DatasetIterator resumed = dataset.allow_changed_sources().make_iterator();
  resumed.restore(state);
  EXPECT_EQ(texts(pipelines::rest(resumed)), Strings{"2"});
}

TEST_F(FileSources, OfVersion1HaveNothingToCompare) {
  disk_.write_file("/other", "x\n22\n333\n");
  DatasetIterator iterator = th::text_line_dataset({"/other"}, disk_).make_iterator();
  iterator.restore(version_1_after_one_line());
  EXPECT_EQ(texts(pipelines::rest(iterator)), (Strings{"22", "333"}));
  disk_.write_file("/a", "1\n22\n333\n");
  DatasetIterator open = Dataset::from_tensor_slices({th::Tensor::of<std::string>({"/a"})})
                             .interleave([this](const th::Element& path) {
                               return th::text_line_dataset({path[0].scalar<std::string>()}, disk_);
                             })
                             .make_iterator();
  open.restore(th::support::bytes(
      "54486473066333ab01010508706970656c696e650102021f66726f6d5f74656e736f725f736c696365735b315d28737472696e675b5d29"
      "021a696e7465726c6561766528312c20312928737472696e675b5d2906010005057374617465010001000101010001010101040700022f"
      "610100021a746578745f6c696e655f646174617365745b312066696c65735d01000102010106"));
  EXPECT_EQ(texts(pipelines::rest(open)), (Strings{"22", "333"}));
}

TEST_F(FileSources, GoOnWithTheSameLineAfterAFailedRead) {
  Strings lines;
  std::string text;
  for (int i = 0; i < 30; ++i) {
    lines.push_back(std::string(static_cast<std::size_t>(5'000 + i), static_cast<char>('a' + i % 26)));
    text += lines.back() + "\n";
  }
  disk_.write_file("/a", text);
  const std::size_t chunks = text.size() / (64 * 1024) + 1;
  for (std::size_t read = 1; read <= chunks; ++read) {
    th::testing::FaultyFileSystem faulty(disk_);
    faulty.fail_at(th::testing::FileOperation::Read, read, th::ErrorCode::Unavailable);
    DatasetIterator iterator = th::text_line_dataset({"/a"}, faulty).make_iterator();
    Strings got;
    int errors = 0;
    for (th::Element element;;) {
      try {
        if (!iterator.next(element)) break;
        got.push_back(element[0].scalar<std::string>());
      } catch (const th::UnavailableError&) { ++errors; }
    }
    EXPECT_EQ(errors, 1);
    EXPECT_EQ(got, lines) << "read " << read << " failed";
  }
}

TEST_F(FileSources, CanBeSavedWhileAFileIsMissing) {
  disk_.write_file("/a", "1\n2\n");
  const Dataset dataset = th::text_line_dataset({"/a", "/later"}, disk_);
  DatasetIterator iterator = dataset.make_iterator();
  (void)pipelines::some(iterator, 1);
  const std::string state = iterator.save();
  disk_.write_file("/later", "3\n");
  DatasetIterator resumed = dataset.make_iterator();
  resumed.restore(state);
  EXPECT_EQ(texts(pipelines::rest(resumed)), (Strings{"2", "3"}));
}

}  // namespace
