// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of the thread that reads ahead.
#include <trainhook/data/stages.hpp>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <future>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/core/duration.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/data/background_input.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/process_faults.hpp>

#include "hex.hpp"
#include "pipelines.hpp"

namespace th = trainhook;
using th::Dataset;
using th::DatasetIterator;
using th::Element;

namespace {

TEST(Prefetch, ASourceThatDoesNotReturnIsLeftBehindAndWhatItUsesLivesUntilItDoes) {
  const th::Duration before = std::exchange(th::detail::longest_wait_for_a_source, th::Duration::zero());
  th::testing::LogLines log;
  std::promise<void> reached, release, gone;
  const std::shared_future<void> released = release.get_future().share();
  std::shared_ptr<void> held(nullptr, [&gone](void*) { gone.set_value(); });
  {
    DatasetIterator iterator = Dataset::range(3)
                                   .map([held, &reached, released](Element element) {
                                     if (element[0].scalar<std::int64_t>() == 1) reached.set_value(), released.wait();
                                     return element;
                                   })
                                   .prefetch(2)
                                   .make_iterator();
    held.reset();
    Element element;
    ASSERT_TRUE(iterator.next(element));
    reached.get_future().wait();
  }
  EXPECT_EQ(log.count("its thread is left behind"), 1U);
  release.set_value();
  gone.get_future().wait();
  th::detail::longest_wait_for_a_source = before;
}

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

TEST(Prefetch, SavesWhatIsReadyWhileItsSourceWaitsForTheProgram) {
  for (const bool shuffled : {false, true}) {
    pipelines::Gate gate, open;
    open.open_until(20);
    const auto pipeline = [shuffled](pipelines::Gate& at) {
      const Dataset source = pipelines::gated(20, at);
      return (shuffled ? source.shuffle(4, 7) : source).prefetch(30);
    };
    DatasetIterator iterator = pipeline(gate).make_iterator();
    std::vector<Element> taken;
    for (std::int64_t end = 5; end <= 20; end += 5) {
      gate.open_until(end);
      taken.push_back(pipelines::some(iterator, 1).at(0));
      gate.await(end);
      const std::string state = iterator.save();
      DatasetIterator restored = pipeline(open).make_iterator();
      restored.restore(state);
      std::vector<Element> all = taken;
      std::ranges::copy(pipelines::rest(restored), std::back_inserter(all));
      EXPECT_EQ(all, pipelines::all(pipeline(open))) << end;
      if (end == 15) break;
    }
    gate.open_until(20);
  }
}

TEST(Prefetch, KeepsAnErrorThatWaitsInItsBuffer) {
  const auto generator = [](bool fails) {
    return Dataset::from_generator(
               pipelines::int_spec(),
               [fails] {
                 auto next = std::make_shared<std::int64_t>(0);
                 return th::Generator{
                     .next =
                         [=](Element& element) {
                           const std::int64_t number = (*next)++;
                           if (fails && number == 2) throw th::UnavailableError("the net is down");
                           element.assign(1, th::Tensor(number));
                           return number < 5;
                         },
                     .save = [=] { return std::to_string(*next); },
                     .restore = [=](std::string_view state) { *next = std::stoll(std::string(state)); }};
               })
        .prefetch(4);
  };
  DatasetIterator iterator = generator(true).make_iterator();
  Element element;
  ASSERT_TRUE(iterator.next(element));
  std::string state;
  while (state.find("the net is down") == std::string::npos) state = iterator.save();
  DatasetIterator restored = generator(false).make_iterator();
  restored.restore(state);
  restored.restore(restored.save());
  ASSERT_TRUE(restored.next(element));
  EXPECT_EQ(element[0].scalar<std::int64_t>(), 1);
  try {
    static_cast<void>(restored.next(element));
    FAIL() << "the error is gone";
  } catch (const th::UnavailableError& error) { EXPECT_STREQ(error.what(), "the net is down"); }
  EXPECT_EQ(pipelines::values(pipelines::rest(restored)), (std::vector<std::int64_t>{3, 4}));
}

TEST(Prefetch, RestoresAStateOfVersion1) {
  DatasetIterator iterator = pipelines::generated(20).prefetch(2).make_iterator();
  iterator.restore(th::support::bytes(  // of a buffer of three, after five elements
      "544864735728ea1a01010508706970656c696e650102022066726f6d5f67656e657261746f7228636f756e7465722928696e7436345b5d"
      "29020870726566657463680601000505737461746501000103010104090005000000000000000101040900060000000000000001010409"
      "000700000000000000010002013806"));
  EXPECT_EQ(pipelines::values(pipelines::rest(iterator)),
            (std::vector<std::int64_t>{5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19}));
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

TEST(Prefetch, SaysThatItCannotStartAThread) {
  const th::testing::NoThreads no_threads;
  if (!no_threads.works()) GTEST_SKIP() << "this C library cannot refuse threads";
  DatasetIterator iterator = Dataset::range(10).prefetch(4).make_iterator();
  Element element;
  try {
    static_cast<void>(iterator.next(element));
    FAIL() << "it has started one";
  } catch (const th::ResourceExhaustedError& error) {
    EXPECT_TRUE(std::string(error.what()).starts_with("prefetch cannot start a thread: ")) << error.what();
  }
}

TEST(Prefetch, IsDeadInAForkedChild) {
  auto iterator = std::make_unique<DatasetIterator>(Dataset::range(10).prefetch(4).make_iterator());
  Element element;
  ASSERT_TRUE(iterator->next(element));
  EXPECT_EQ(th::testing::run_in_forked_child([&] {
              try {
                static_cast<void>(iterator->next(element));
              } catch (const th::FailedPreconditionError&) {
                iterator.reset();
                return;
              }
              throw th::InternalError("it has no thread here");
            }),
            0);
  ASSERT_TRUE(iterator->next(element));
  EXPECT_EQ(element[0].scalar<std::int64_t>(), 1);
}

}  // namespace
