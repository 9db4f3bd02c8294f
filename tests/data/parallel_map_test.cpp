// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of the map on several threads.
#include <trainhook/data/stages.hpp>

#include <future>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/core/duration.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/data/background_input.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/process_faults.hpp>

#include "allocations.hpp"
#include "hex.hpp"
#include "pipelines.hpp"
#include "sanitized.hpp"

namespace trainhook {
namespace {

using Numbers = std::vector<std::int64_t>;

Dataset mapped(const Dataset& dataset) { return dataset.map(pipelines::times_ten, {.num_parallel_calls = 2}); }

TEST(ParallelMap, ASourceThatDoesNotReturnIsLeftBehindAndWhatItUsesLivesUntilItDoes) {
  const Duration before = std::exchange(detail::longest_wait_for_a_source, Duration::zero());
  testing::LogLines log;
  std::promise<void> reached, release, gone;
  const std::shared_future<void> released = release.get_future().share();
  std::shared_ptr<void> held(nullptr, [&gone](void*) { gone.set_value(); });
  {
    DatasetIterator iterator = Dataset::range(3)
                                   .map(
                                       [held, &reached, released](Element element) {
                                         if (element[0].scalar<std::int64_t>() == 1)
                                           reached.set_value(), released.wait();
                                         return element;
                                       },
                                       {.num_parallel_calls = 2})
                                   .make_iterator();
    held.reset();
    Element element;
    ASSERT_TRUE(iterator.next(element));
    reached.get_future().wait();
  }
  EXPECT_EQ(log.count("its thread is left behind"), 1U);
  release.set_value();
  gone.get_future().wait();
  detail::longest_wait_for_a_source = before;
}

TEST(ParallelMap, AnAllocationThatFailsOnOneOfItsThreadsIsAnError) {
  testing::LogLines log;
  int failures = 0;
  for (std::size_t before = 0; before < 120; ++before) {
    const Dataset source = Dataset::range(60).map([before](Element element) {
      if (element[0].scalar<std::int64_t>() == 2) support::fail_allocation_after(before);
      return element;
    });
    DatasetIterator iterator = mapped(source).make_iterator();
    try {
      EXPECT_EQ(pipelines::values(pipelines::rest(iterator)).size(), 60U);
    } catch (const std::bad_alloc&) { ++failures; } catch (const Error&) {
      ++failures;
    }
  }
  if (!testing::kIsSanitized) { EXPECT_GT(failures, 0); }
}

TEST(ParallelMap, GivesWhatIsReadyWhileItsSourceWaitsForTheProgram) {
  pipelines::Gate gate;
  DatasetIterator iterator = mapped(pipelines::gated(4, gate)).make_iterator();
  gate.open_until(1);
  Numbers taken = pipelines::values(pipelines::some(iterator, 1));
  for (std::int64_t end = 2; end <= 4; ++end) {
    gate.open_until(end);
    if (end < 4) gate.await(end);
    taken.push_back(pipelines::values(pipelines::some(iterator, 1)).at(0));
  }
  EXPECT_EQ(taken, (Numbers{0, 10, 20, 30}));
}

TEST(ParallelMap, SavesWhatIsReadyWhileItsSourceWaitsForTheProgram) {
  pipelines::Gate gate, open;
  open.open_until(6);
  DatasetIterator iterator = mapped(pipelines::gated(6, gate)).make_iterator();
  gate.open_until(3);
  (void)pipelines::some(iterator, 1);
  gate.await(3);
  const std::string state = iterator.save();
  DatasetIterator restored = mapped(pipelines::gated(6, open)).make_iterator();
  restored.restore(state);
  EXPECT_EQ(pipelines::values(pipelines::rest(restored)), (Numbers{10, 20, 30, 40, 50}));
  gate.open_until(6);
}

TEST(ParallelMap, SavesWhileItsFunctionWaitsForTheProgram) {
  pipelines::Gate gate;
  const auto waits = [&gate](Element element) {
    gate.pass(element[0].scalar<std::int64_t>());
    return element;
  };
  DatasetIterator iterator = pipelines::generated(3).map(waits, {.num_parallel_calls = 2}).make_iterator();
  gate.open_until(1);
  (void)pipelines::some(iterator, 1);
  const std::string state = iterator.save();
  gate.open_until(3);
  DatasetIterator restored = pipelines::generated(3).map(waits, {.num_parallel_calls = 2}).make_iterator();
  restored.restore(state);
  EXPECT_EQ(pipelines::values(pipelines::rest(restored)), (Numbers{1, 2}));
}

TEST(ParallelMap, KeepsAnErrorOfItsInputThatWaits) {
  const auto source = [](bool fails) {
    return mapped(Dataset::from_generator(pipelines::int_spec(), [fails] {
      auto next = std::make_shared<std::int64_t>(0);
      return Generator{.next =
                           [=](Element& element) {
                             const std::int64_t number = (*next)++;
                             if (fails && number == 1) throw std::runtime_error("the net is down");
                             element.assign(1, Tensor(number));
                             return number < 4;
                           },
                       .save = [=] { return std::to_string(*next); },
                       .restore = [=](std::string_view state) { *next = std::stoll(std::string(state)); }};
    }));
  };
  DatasetIterator iterator = source(true).make_iterator();
  (void)pipelines::some(iterator, 1);
  std::string state;
  while (state.find("the net is down") == std::string::npos) state = iterator.save();
  DatasetIterator restored = source(false).make_iterator();
  restored.restore(state);
  restored.restore(restored.save());
  Element element;
  try {
    static_cast<void>(restored.next(element));
    FAIL() << "the error is gone";
  } catch (const UnknownError& error) {
    EXPECT_STREQ(error.what(), "next of generator 'generator' threw: the net is down");
  }
  EXPECT_EQ(pipelines::values(pipelines::rest(restored)), (Numbers{20, 30}));
}

TEST(ParallelMap, KeepsElementsWithoutComponents) {
  const auto make = [] {
    return Dataset::from_generator(
               ElementSpec(),
               [] {
                 auto left = std::make_shared<int>(5);
                 return Generator{.next = [left](Element& element) { return element.clear(), (*left)-- > 0; },
                                  .save = [left] { return std::to_string(*left); },
                                  .restore = [left](std::string_view state) { *left = std::stoi(std::string(state)); }};
               })
        .map([](const Element&) { return Element{Tensor(std::int64_t{7})}; },
             {.element_spec = pipelines::int_spec(), .num_parallel_calls = 2});
  };
  DatasetIterator iterator = make().make_iterator();
  (void)pipelines::some(iterator, 1);
  DatasetIterator restored = make().make_iterator();
  restored.restore(iterator.save());
  EXPECT_EQ(pipelines::rest(restored).size(), 4U);
}

TEST(ParallelMap, RestoresAStateOfVersion1) {
  DatasetIterator iterator = mapped(pipelines::generated(12)).make_iterator();
  iterator.restore(support::bytes(
      "544864739da26d8701010508706970656c696e650102022066726f6d5f67656e657261746f7228636f756e7465722928696e7436345b5d"
      "290215706172616c6c656c206d617028696e7436345b5d2906010005057374617465010001040101040900050000000000000001010409"
      "0006000000000000000101040900070000000000000001010409000800000000000000010002013906"));
  EXPECT_EQ(pipelines::values(pipelines::rest(iterator)), (Numbers{50, 60, 70, 80, 90, 100, 110}));
}

TEST(ParallelMap, IsDeadInAForkedChild) {
  const auto same = [](Element element) { return element; };
  auto iterator =
      std::make_unique<DatasetIterator>(Dataset::range(10).map(same, {.num_parallel_calls = 2}).make_iterator());
  Element element;
  ASSERT_TRUE(iterator->next(element));
  EXPECT_EQ(testing::run_in_forked_child([&] {
              try {
                static_cast<void>(iterator->next(element));
              } catch (const FailedPreconditionError&) {
                iterator.reset();
                return;
              }
              throw InternalError("it has no threads here");
            }),
            0);
  ASSERT_TRUE(iterator->next(element));
}

}  // namespace
}  // namespace trainhook
