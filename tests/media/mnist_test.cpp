// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of IDX files and of Fashion-MNIST, also as a dataset.
#include <trainhook/media/mnist.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/io/posix_file_system.hpp>

#include "damage.hpp"
#include "media_files.hpp"

namespace trainhook {
namespace {

std::string idx_header(std::initializer_list<std::uint32_t> dims, char type = 8) {
  std::string bytes{'\0', '\0', type, static_cast<char>(dims.size())};
  for (const std::uint32_t dim : dims) {
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(dim >> shift & 255);
  }
  return bytes;
}

Tensor read_back(const std::string& path) { return read_idx_file(posix_file_system(), path); }

template <class ExpectedError>
void expect_refused(const MediaFiles& files, std::string_view contents, std::string_view said) {
  for (const bool compressed : {false, true}) {
    const std::string path =
        files.put(compressed ? "a.gz" : "a", compressed ? gzip_of(contents) : std::string(contents));
    try {
      static_cast<void>(read_back(path));
      ADD_FAILURE() << "no error for " << path;
    } catch (const ExpectedError& error) {
      EXPECT_TRUE(std::string(error.what()).starts_with(path)) << error.what();
      EXPECT_NE(std::string(error.what()).find(said), std::string::npos) << error.what();
    }
  }
}

TEST(Idx, ReadsPlainAndCompressedFiles) {
  const MediaFiles files;
  const std::string contents = idx_header({2, 3}) + "abcdef";
  for (const std::string& path : {files.put("a", contents), files.put("a.gz", gzip_of(contents))}) {
    const Tensor tensor = read_back(path);
    EXPECT_EQ(tensor.shape(), (Shape{2, 3}));
    EXPECT_EQ(tensor.data<std::uint8_t>()[5], 'f');
  }
}

TEST(Idx, ReadsAFileOfNoElements) {
  const MediaFiles files;
  EXPECT_EQ(read_back(files.put("a", idx_header({0, 28, 28}))).shape(), (Shape{0, 28, 28}));
}

TEST(Idx, RefusesForeignFiles) {
  const MediaFiles files;
  expect_refused<DataLossError>(files, "", "is truncated");
  expect_refused<DataLossError>(files, "hello world", "not an IDX file");
  expect_refused<DataLossError>(files, idx_header({}), "dimensions");
  expect_refused<DataLossError>(files, idx_header({1, 1, 1, 1, 1, 1, 1, 1, 1}) + "x", "dimensions");
  expect_refused<UnimplementedError>(files, idx_header({1}, 13) + "floa", "type 13");
}

TEST(Idx, RefusesAnyTruncationAndAnythingThatFollows) {
  const MediaFiles files;
  const std::string contents = idx_header({2, 2}) + "abcd";
  for (std::size_t size = 0; size < contents.size(); ++size) {
    EXPECT_THROW(static_cast<void>(read_back(files.put("a", contents.substr(0, size)))), DataLossError) << size;
    EXPECT_THROW(static_cast<void>(read_back(files.put("a.gz", gzip_of(contents.substr(0, size))))), DataLossError)
        << size;
  }
  const std::string compressed = gzip_of(contents);
  for (std::size_t size = 0; size < compressed.size(); ++size) {
    EXPECT_THROW(static_cast<void>(read_back(files.put("a.gz", compressed.substr(0, size)))), DataLossError) << size;
  }
  expect_refused<DataLossError>(files, contents + "e", "data follows");
}

TEST(Idx, NeverTakesAFlippedBitForData) {
  const MediaFiles files;
  const std::string contents = idx_header({40}) + noise(40);
  const std::string bytes = gzip_of(contents);
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    const std::string path = files.put("a.gz", testing::flipped(bytes, bit));
    try {
      const Tensor tensor = read_back(path);
      EXPECT_EQ(
          idx_header({40}) + std::string(reinterpret_cast<const char*>(tensor.bytes().data()), tensor.byte_size()),
          contents)
          << bit;
    } catch (const Error& error) {
      EXPECT_TRUE(error.code() == ErrorCode::DataLoss || error.code() == ErrorCode::Unimplemented) << error.what();
    }
  }
}

TEST(Idx, ReadsOfAnUncompressedFileWhateverDamageSaysOrRefusesIt) {
  const MediaFiles files;
  const std::string path = files.put("a", "");
  testing::expect_refused_or_read(idx_header({2, 3}) + noise(6), path, [&](const std::string& damaged) {
    EXPECT_EQ(files.put("a", damaged), path);
    return read_back(path);
  });
}

TEST(Idx, TakesNoMemoryForAHeaderThatPromisesTooMuch) {
  const MediaFiles files;
  expect_refused<DataLossError>(files, idx_header({0xffffffffU}) + "abc", "promises more");
  expect_refused<DataLossError>(files, idx_header({0xffffffffU, 0xffffffffU, 0xffffffffU}) + "abc", "promises more");
  expect_refused<DataLossError>(files, idx_header({0, 0xffffffffU, 0xffffffffU, 0xffffffffU, 2}) + "abc",
                                "promises more");
  expect_refused<DataLossError>(files, idx_header({0, 0xffffffffU}) + "abc", "data follows");
}

struct DataSet {
  std::string images = idx_header({2, 28, 28}) + noise(2 * 28 * 28);
  std::string labels = idx_header({2}) + std::string{'\3', '\7'};
};

void install(const MediaFiles& files, const DataSet& data) {
  static_cast<void>(files.put("t10k-images-idx3-ubyte.gz", gzip_of(data.images)));
  static_cast<void>(files.put("t10k-labels-idx1-ubyte", data.labels));
}

TEST(FashionMnist, LoadsImagesAndLabels) {
  const MediaFiles files;
  install(files, {});
  const FashionMnist data = load_fashion_mnist(Split::Test, files.directory());
  EXPECT_EQ(data.images.shape(), (Shape{2, 28, 28}));
  EXPECT_EQ(data.labels.data<std::uint8_t>()[1], 7);
}

TEST(FashionMnist, SaysHowToInstallWhatIsMissing) {
  const MediaFiles files;
  install(files, {});
  try {
    static_cast<void>(load_fashion_mnist(Split::Train, files.directory()));
    FAIL();
  } catch (const NotFoundError& error) {
    EXPECT_NE(std::string(error.what()).find("apt-get install dataset-fashion-mnist"), std::string::npos)
        << error.what();
    EXPECT_NE(std::string(error.what()).find(files.directory()), std::string::npos) << error.what();
  }
}

TEST(FashionMnist, RefusesFilesThatDoNotBelongTogether) {
  const MediaFiles files;
  for (const DataSet& data : {DataSet{.images = idx_header({2, 28}) + noise(2 * 28)},
                              DataSet{.images = idx_header({1, 28, 28}) + noise(28 * 28)},
                              DataSet{.labels = idx_header({2}) + std::string{'\3', '\12'}},
                              DataSet{.labels = idx_header({2, 1}) + "\3\7"}}) {
    install(files, data);
    EXPECT_THROW(static_cast<void>(load_fashion_mnist(Split::Test, files.directory())), DataLossError);
  }
}

TEST(FashionMnist, IsReadFromWhereItIsInstalled) {
  if (!posix_file_system().exists("/usr/share/datasets/fashion-mnist")) GTEST_SKIP() << "the data set is not installed";
  const FashionMnist test = load_fashion_mnist(Split::Test);
  EXPECT_EQ(test.images.shape(), (Shape{10'000, 28, 28}));
  std::array<int, 10> counts{};
  for (const std::uint8_t label : test.labels.data<std::uint8_t>()) ++counts.at(label);
  for (const int count : counts) EXPECT_EQ(count, 1000);
}

// A split of `count` images: every pixel of image i is 100 * i + its number, modulo 256; its label is i.
void put_split(const MediaFiles& files, const std::string& split, int count) {
  const auto dims = [](std::initializer_list<int> sizes) {
    std::string bytes{'\0', '\0', '\x08', static_cast<char>(sizes.size())};
    for (int size : sizes) bytes += {'\0', '\0', static_cast<char>(size >> 8), static_cast<char>(size & 255)};
    return bytes;
  };
  std::string images = dims({count, 28, 28}), labels = dims({count});
  for (int i = 0; i < count; ++i) {
    for (int pixel = 0; pixel < 784; ++pixel) images += static_cast<char>((100 * i + pixel) & 255);
    labels += static_cast<char>(i);
  }
  (void)files.put(split + "-images-idx3-ubyte.gz", gzip_of(images));
  (void)files.put(split + "-labels-idx1-ubyte.gz", gzip_of(labels));
}

std::vector<Element> all(const Dataset& dataset) {
  std::vector<Element> elements;
  DatasetIterator iterator = dataset.make_iterator();
  for (Element element; iterator.next(element);) elements.push_back(element);
  return elements;
}

TEST(FashionMnist, GivesScaledImagesAndLabels) {
  const MediaFiles files;
  put_split(files, "train", 3);
  const Dataset dataset = fashion_mnist(files.directory(), Split::Train);
  EXPECT_EQ(detail::spec_to_string(dataset.element_spec()), "(float32[784], int64[])");
  EXPECT_EQ(dataset.cardinality(), 3);
  const std::vector<Element> elements = all(dataset);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(elements[i][1].scalar<std::int64_t>(), static_cast<std::int64_t>(i));
    for (std::size_t pixel = 0; pixel < 784; ++pixel) {
      ASSERT_EQ(elements[i][0].data<float>()[pixel],
                static_cast<float>((100 * i + pixel) & 255) / 255.0F);  // to the last bit
    }
  }
}

TEST(FashionMnist, GathersBatchesAsItReadsRows) {
  const MediaFiles files;
  put_split(files, "t10k", 7);
  const Dataset shuffled = fashion_mnist(files.directory(), Split::Test).shuffle(5, 1).repeat(2);
  const std::vector<Element> rows = all(shuffled), batches = all(shuffled.batch(4));
  ASSERT_EQ(batches.size(), 4U);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Element& batch = batches[i / 4];
    EXPECT_EQ(batch[1].data<std::int64_t>()[i % 4], rows[i][1].scalar<std::int64_t>());
    EXPECT_TRUE(std::ranges::equal(batch[0].data<float>().subspan(i % 4 * 784, 784), rows[i][0].data<float>()));
  }
  EXPECT_EQ(detail::spec_to_string(shuffled.batch(4).element_spec()), "(float32[?,784], int64[?])");
}

TEST(FashionMnist, RestoresIntoTheSameSplitOnly) {
  const MediaFiles files;
  put_split(files, "train", 3);
  put_split(files, "t10k", 3);
  DatasetIterator train = fashion_mnist(files.directory(), Split::Train).make_iterator();
  DatasetIterator test = fashion_mnist(files.directory(), Split::Test).make_iterator();
  EXPECT_THROW(test.restore(train.save()), InvalidArgumentError);
}

TEST(FashionMnist, CanBeEmpty) {
  const MediaFiles files;
  put_split(files, "train", 0);
  EXPECT_TRUE(all(fashion_mnist(files.directory(), Split::Train).shuffle(3, 1).repeat().batch(2)).empty());
}

TEST(FashionMnist, NamesTheFileThatIsMissing) {
  const MediaFiles files;
  EXPECT_THROW((void)fashion_mnist(files.directory(), Split::Train), NotFoundError);
}

}  // namespace
}  // namespace trainhook
