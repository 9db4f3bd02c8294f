// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of the thread that reads ahead.
#include <trainhook/data/prefetch.hpp>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>

#include "pipelines.hpp"

namespace th = trainhook;
using th::Dataset;
using th::DatasetIterator;
using th::Element;

namespace {

TEST(Prefetch, ComputesAheadOnItsOwnThread) {
  std::mutex mutex;
  std::condition_variable changed;
  int made = 0;
  std::thread::id maker;
  const Dataset dataset = Dataset::range(10)
                              .map([&](Element element) {
                                const std::scoped_lock lock(mutex);
                                ++made;
                                maker = std::this_thread::get_id();
                                changed.notify_all();
                                return element;
                              })
                              .prefetch(4);
  DatasetIterator iterator = dataset.make_iterator();
  Element element;
  ASSERT_TRUE(iterator.next(element));
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return made >= 5; });  // the one that was taken, and four ready ones
  EXPECT_NE(maker, std::this_thread::get_id());
}

TEST(Prefetch, DoesNothingBeforeTheFirstElementIsWanted) {
  std::atomic<int> made = 0;
  const Dataset dataset = Dataset::range(10).map([&made](Element element) { return ++made, element; }).prefetch(4);
  {
    DatasetIterator iterator = dataset.make_iterator();
    (void)iterator.save();
  }
  EXPECT_EQ(made, 0);
}

TEST(Prefetch, CanBeDroppedWhileItsThreadIsAtWork) {
  for (std::int64_t consumed = 0; consumed < 20; ++consumed) {
    DatasetIterator iterator = pipelines::generated(1'000).prefetch(3).make_iterator();
    (void)pipelines::some(iterator, consumed);
  }
}

TEST(Prefetch, OverASourceThatCanSeekLeavesNoTraceInTheState) {
  const Dataset plain = Dataset::range(100).shuffle(10, 1).batch(4);
  DatasetIterator without = plain.make_iterator(), with = plain.prefetch(3).make_iterator();
  (void)pipelines::some(without, 7);
  (void)pipelines::some(with, 7);
  EXPECT_EQ(with.save(), without.save());
  DatasetIterator other = plain.prefetch(9).make_iterator();  // so that its size may change from run to run
  other.restore(with.save());
  EXPECT_EQ(pipelines::rest(other), pipelines::rest(without));
}

TEST(Prefetch, KeepsWhatIsReadyIfItsSourceCannotSeek) {
  DatasetIterator iterator = pipelines::generated(20).prefetch(6).make_iterator();
  (void)pipelines::some(iterator, 5);
  const std::string state = iterator.save();
  DatasetIterator smaller = pipelines::generated(20).prefetch(2).make_iterator();
  smaller.restore(state);
  EXPECT_EQ(pipelines::values(pipelines::rest(smaller)), pipelines::values(pipelines::rest(iterator)));
}

TEST(Prefetch, DeliversErrorsInTheirPlace) {
  const Dataset dataset = pipelines::generated(6)
                              .map([](Element element) {
                                if (element[0].scalar<std::int64_t>() % 2 == 1) throw th::DataLossError("odd");
                                return element;
                              })
                              .prefetch(4);
  DatasetIterator iterator = dataset.make_iterator();
  Element element;
  for (std::int64_t even : {0, 2, 4}) {
    ASSERT_TRUE(iterator.next(element));
    EXPECT_EQ(element[0].scalar<std::int64_t>(), even);
    EXPECT_THROW((void)iterator.next(element), th::DataLossError);
  }
  EXPECT_FALSE(iterator.next(element));
  EXPECT_FALSE(iterator.next(element));
}

TEST(Prefetch, ReusesTheMemoryThatItIsGivenBack) {
  DatasetIterator iterator = Dataset::from_tensor_slices({th::Tensor(th::DType::Float, {1'000, 32})})
                                 .repeat()
                                 .batch(64)
                                 .prefetch(2)
                                 .make_iterator();
  Element element;
  std::vector<const float*> places;
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(iterator.next(element));
    const float* place = element[0].data<float>().data();
    if (i >= 20 && std::ranges::find(places, place) == places.end()) places.push_back(place);
  }
  EXPECT_LE(places.size(), 2U * 3U);  // two sizes of batch, three in flight
}

}  // namespace
