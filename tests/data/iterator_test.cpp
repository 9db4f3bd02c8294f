// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of the iterator that threads share.
#include <trainhook/data/iterator.hpp>

#include <algorithm>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>

#include "pipelines.hpp"

namespace th = trainhook;
using th::Dataset;
using th::Element;

namespace {

std::int64_t next_value(th::Iterator& iterator) {
  Element element;
  iterator.get_next(element);
  return element[0].scalar<std::int64_t>();
}

TEST(Iterator, EndsWithOutOfRange) {
  th::Iterator iterator(Dataset::range(1));
  EXPECT_EQ(next_value(iterator), 0);
  for (int i = 0; i < 2; ++i) {
    try {
      (void)next_value(iterator);
      FAIL();
    } catch (const th::OutOfRangeError& error) { EXPECT_STREQ(error.what(), "End of sequence"); }
  }
  iterator.initialize();
  EXPECT_EQ(next_value(iterator), 0);
}

TEST(Iterator, CarriesItsPositionInAStringScalar) {
  th::Iterator iterator(Dataset::range(10));
  (void)next_value(iterator);
  const th::Tensor state = iterator.save_state();
  EXPECT_EQ(state.dtype(), th::DType::String);
  EXPECT_EQ(state.shape(), th::Shape{});
  th::Iterator other(Dataset::range(10));
  other.verify_state(state);
  EXPECT_EQ(next_value(other), 0);  // verifying moved nothing
  other.restore_state(state);
  EXPECT_EQ(next_value(other), 1);
}

TEST(Iterator, IsUntouchedByAStateThatDoesNotFit) {
  th::Iterator iterator(Dataset::range(10)), other(Dataset::range(11));
  (void)next_value(iterator);
  EXPECT_THROW(iterator.restore_state(other.save_state()), th::InvalidArgumentError);
  EXPECT_THROW(iterator.verify_state(other.save_state()), th::InvalidArgumentError);
  EXPECT_THROW(iterator.restore_state(th::Tensor(1.0F)), th::InvalidArgumentError);
  EXPECT_THROW(iterator.restore_state(th::Tensor::of<std::string>({"a"})), th::InvalidArgumentError);
  EXPECT_THROW(iterator.restore_state(th::Tensor("")), th::DataLossError);
  EXPECT_EQ(next_value(iterator), 1);
}

TEST(Iterator, GivesEachElementToOneOfSeveralThreads) {
  th::Iterator iterator(Dataset::range(2'000).shuffle(100, 1).prefetch(4));
  std::vector<std::vector<std::int64_t>> got(3);
  std::vector<std::thread> threads;
  for (auto& mine : got) {
    threads.emplace_back([&iterator, &mine] {
      Element element;
      while (iterator.try_get_next(element)) mine.push_back(element[0].scalar<std::int64_t>());
    });
  }
  for (int i = 0; i < 20; ++i) iterator.verify_state(iterator.save_state());  // saving meanwhile
  for (std::thread& thread : threads) thread.join();
  std::vector<std::int64_t> all;
  for (const auto& mine : got) all.insert(all.end(), mine.begin(), mine.end());
  std::ranges::sort(all);
  EXPECT_EQ(all, pipelines::values(Dataset::range(2'000)));
}

}  // namespace
