// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of Fashion-MNIST as a dataset.
#include <trainhook/media/fashion_mnist.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "media_files.hpp"

namespace trainhook {
namespace {

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
