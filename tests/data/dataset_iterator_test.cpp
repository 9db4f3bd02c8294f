// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of saving, restoring and skipping, for every kind of pipeline, and of damaged states.
#include <trainhook/data/dataset_iterator.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/data/dataset_node.hpp>
#include <trainhook/io/crc32c.hpp>

#include "pipelines.hpp"

namespace th = trainhook;
using th::Dataset;
using th::DatasetIterator;
using th::Element;

namespace {

constexpr auto kIgnore = th::ExternalStatePolicy::Ignore;

class EveryPipeline : public ::testing::TestWithParam<pipelines::Pipeline> {};

TEST_P(EveryPipeline, ContinuesWithTheNextElementWhereverItWasSaved) {
  const pipelines::Pipeline& pipeline = GetParam();
  DatasetIterator original = pipeline.dataset.make_iterator();
  std::string state = original.save(kIgnore);
  const std::vector<Element> expected = pipelines::some(original, pipeline.look);
  for (std::size_t consumed = 0; consumed <= expected.size(); ++consumed) {
    DatasetIterator restored = pipeline.dataset.make_iterator();
    restored.restore(state);
    const std::vector<Element> rest = pipelines::some(restored, pipeline.look - static_cast<std::int64_t>(consumed));
    ASSERT_EQ(rest, std::vector<Element>(expected.begin() + static_cast<std::ptrdiff_t>(consumed), expected.end()))
        << "after " << consumed;
    DatasetIterator next = pipeline.dataset.make_iterator();  // saved from a restored one: errors would add up
    next.restore(state);
    (void)pipelines::some(next, 1);
    state = next.save(kIgnore);
  }
}

/// Whether a saved position has what threads have read ahead, so that its bytes depend on how far they came.
bool depends_on_threads(const th::detail::DatasetNode& node) {
  std::vector<std::string> stages;
  th::detail::describe_pipeline(node, stages);
  return std::ranges::any_of(
      stages, [](const std::string& stage) { return stage == "prefetch" || stage.starts_with("parallel map"); });
}

TEST_P(EveryPipeline, GivesTheSameBytesAtTheSamePosition) {
  const pipelines::Pipeline& pipeline = GetParam();
  if (depends_on_threads(*pipeline.dataset.node())) return;
  DatasetIterator straight = pipeline.dataset.make_iterator();
  const std::string start = straight.save(kIgnore);
  (void)pipelines::some(straight, 5);
  DatasetIterator resumed = pipeline.dataset.make_iterator();
  resumed.restore(start);
  (void)pipelines::some(resumed, 3);
  const std::string middle = resumed.save(kIgnore);
  resumed.restore(middle);
  (void)pipelines::some(resumed, 2);
  EXPECT_EQ(resumed.save(kIgnore), straight.save(kIgnore));
}

TEST_P(EveryPipeline, SkipsAsIfItHadRead) {
  const pipelines::Pipeline& pipeline = GetParam();
  DatasetIterator read = pipeline.dataset.make_iterator();
  const std::string start = read.save(kIgnore);
  for (std::int64_t count : {0, 1, 2, 7}) {
    read.restore(start);
    DatasetIterator skipped = pipeline.dataset.make_iterator();
    skipped.restore(start);
    EXPECT_EQ(skipped.skip(count), static_cast<std::int64_t>(pipelines::some(read, count).size()));
    EXPECT_EQ(pipelines::some(skipped, 20), pipelines::some(read, 20)) << "after " << count;
  }
}

TEST_P(EveryPipeline, KeepsTheTensorsItHandedOut) {
  const pipelines::Pipeline& pipeline = GetParam();
  DatasetIterator original = pipeline.dataset.make_iterator();
  const std::string start = original.save(kIgnore);
  DatasetIterator again = pipeline.dataset.make_iterator();
  again.restore(start);
  Element reused;
  for (const Element& kept :
       pipelines::some(original, pipeline.look)) {  // the kept ones share nothing with what came later
    ASSERT_TRUE(again.next(reused));
    EXPECT_EQ(reused, kept);
  }
}

TEST_P(EveryPipeline, MatchesItsSpecAndCardinality) {
  const pipelines::Pipeline& pipeline = GetParam();
  DatasetIterator iterator = pipeline.dataset.make_iterator();
  const std::vector<Element> elements = pipelines::some(iterator, 1'000);
  for (const Element& element : elements) EXPECT_TRUE(th::detail::matches(pipeline.dataset.element_spec(), element));
  const std::int64_t cardinality = pipeline.dataset.cardinality();
  if (cardinality != th::kUnknownCardinality) {
    EXPECT_EQ(static_cast<std::int64_t>(elements.size()),
              cardinality == th::kInfiniteCardinality ? 1'000 : cardinality);
  }
}

std::string case_name(const ::testing::TestParamInfo<pipelines::Pipeline>& info) {
  std::string name;
  for (char c : info.param.name) name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
}
INSTANTIATE_TEST_SUITE_P(DatasetIterator, EveryPipeline, ::testing::ValuesIn(pipelines::zoo()), case_name);

// A state with its checksum made right again, so that damage reaches the reader behind it.
std::string fix_checksum(std::string state) {
  const std::uint32_t checksum = th::crc32c::value(std::string_view(state).substr(8));
  for (unsigned i = 0; i < 4; ++i) state[4 + i] = static_cast<char>(checksum >> 8 * i & 0xFF);
  return state;
}

// Restores what may be damaged: an error of the family, or an iterator that still works.
bool survives(const Dataset& dataset, const std::string& state, std::int64_t look) {
  DatasetIterator iterator = dataset.make_iterator();
  try {
    iterator.restore(state);
  } catch (const th::Error&) { return false; }
  (void)pipelines::some(iterator, look);
  return true;
}

std::string state_of(const Dataset& dataset, std::int64_t consumed) {
  DatasetIterator iterator = dataset.make_iterator();
  (void)pipelines::some(iterator, consumed);
  return iterator.save(kIgnore);
}

TEST_P(EveryPipeline, RejectsAStateThatIsCutShort) {
  const Dataset& dataset = GetParam().dataset;
  const std::string state = state_of(dataset, 4);
  for (std::size_t size = 0; size < state.size(); ++size) {
    EXPECT_FALSE(survives(dataset, state.substr(0, size), 9));
    if (size < 8) continue;
    EXPECT_FALSE(survives(dataset, fix_checksum(state.substr(0, size)), 9)) << "cut to " << size;
  }
  EXPECT_FALSE(survives(dataset, fix_checksum(state + "x"), 9));
}

TEST_P(EveryPipeline, RejectsEveryFlippedBit) {
  const Dataset& dataset = GetParam().dataset;
  std::string state = state_of(dataset, 4);
  for (std::size_t bit = 0; bit < state.size() * 8; ++bit) {
    state[bit / 8] = static_cast<char>(state[bit / 8] ^ 1 << bit % 8);
    EXPECT_FALSE(survives(dataset, state, 9)) << "bit " << bit;
    if (bit >= 64)
      (void)survives(dataset, fix_checksum(state), 9);  // may be a state in its own right, but never a crash
    state[bit / 8] = static_cast<char>(state[bit / 8] ^ 1 << bit % 8);
  }
}

template <class Failure, class Action>
std::string message_of(Action action) {
  try {
    action();
  } catch (const Failure& failure) { return failure.what(); }
  return "nothing was thrown";
}

TEST(DatasetIterator, NamesTheStageThatDiffers) {
  const std::string state = Dataset::range(100).shuffle(10, 1).batch(4).make_iterator().save();
  const auto restore_into = [&state](const Dataset& dataset) {
    return message_of<th::InvalidArgumentError>([&] { dataset.make_iterator().restore(state); });
  };
  EXPECT_NE(restore_into(Dataset::range(100).shuffle(20, 1).batch(4))
                .find("stage 2 is shuffle(10, seed=1), here it is shuffle(20, seed=1)"),
            std::string::npos);
  EXPECT_NE(restore_into(Dataset::range(100).shuffle(10, 2).batch(4)).find("here it is shuffle(10, seed=2)"),
            std::string::npos);
  EXPECT_NE(restore_into(Dataset::range(99).shuffle(10, 1).batch(4)).find("stage 1 is range(0, 100, 1)"),
            std::string::npos);
  EXPECT_NE(restore_into(Dataset::range(100).shuffle(10, 1)).find("stage 3 is batch(4), here it is nothing"),
            std::string::npos);
  EXPECT_NE(restore_into(Dataset::range(100).shuffle(10, 1).batch(4).repeat())
                .find("stage 4 is nothing, here it is repeat(-1)"),
            std::string::npos);
}

TEST(DatasetIterator, KeepsItsPositionWhenARestoreFails) {
  const Dataset dataset = Dataset::range(20).shuffle(5, 1);
  DatasetIterator iterator = dataset.make_iterator(), untouched = dataset.make_iterator();
  (void)pipelines::some(iterator, 3);
  (void)pipelines::some(untouched, 3);
  std::string state = untouched.save();
  state.back() = 'x';
  EXPECT_THROW(iterator.restore(state), th::DataLossError);
  EXPECT_THROW(iterator.restore(fix_checksum(state)), th::DataLossError);
  EXPECT_THROW(iterator.restore("not a state"), th::DataLossError);
  EXPECT_EQ(pipelines::rest(iterator), pipelines::rest(untouched));
}

TEST(DatasetIterator, TakesAsLongToRestoreAtAnyPosition) {
  std::int64_t reads = 0;
  const Dataset dataset = Dataset::from_function(1'000'000, pipelines::int_spec(),
                                                 [&reads](std::int64_t i) {
                                                   ++reads;
                                                   return Element{th::Tensor(i)};
                                                 })
                              .shuffle(100, 1)
                              .repeat();
  DatasetIterator iterator = dataset.make_iterator();
  iterator.skip(2'500'000);
  const std::string state = iterator.save();
  EXPECT_LT(state.size(), 1'000U);
  DatasetIterator restored = dataset.make_iterator();
  restored.restore(state);
  EXPECT_EQ(reads, 0);
  EXPECT_EQ(pipelines::some(restored, 5), pipelines::some(iterator, 5));
  EXPECT_EQ(reads, 10);
}

TEST(DatasetIterator, KeepsTheContentsOfABufferThatCannotSeek) {
  const Dataset dataset = pipelines::generated(30).shuffle(10, 1);
  DatasetIterator iterator = dataset.make_iterator();
  (void)pipelines::some(iterator, 12);
  const std::string state = iterator.save();
  DatasetIterator restored = dataset.make_iterator();
  restored.restore(state);
  EXPECT_EQ(pipelines::rest(restored), pipelines::rest(iterator));
}

TEST(DatasetIterator, FailsWarnsOrIgnoresStateThatLiesOutside) {
  const Dataset dataset = pipelines::unsavable(9)
                              .map(pipelines::times_ten, {.stateful = true})
                              .filter(pipelines::is_even, {.stateful = true});
  ASSERT_EQ(dataset.external_state().size(), 3U);
  DatasetIterator iterator = dataset.make_iterator();
  (void)pipelines::some(iterator, 3);
  const std::string message = message_of<th::FailedPreconditionError>([&] { (void)iterator.save(); });
  EXPECT_NE(message.find("from_generator(sensor)"), std::string::npos);
  EXPECT_NE(message.find("map:"), std::string::npos);
  EXPECT_NE(message.find("filter:"), std::string::npos);
  EXPECT_NE(message.find("external_state_policy"), std::string::npos);

  std::string logged;
  const th::LogSink before = th::set_log_sink([&logged](th::LogLevel, std::string_view line) { logged += line; });
  const std::string warned = iterator.save(th::ExternalStatePolicy::Warn);
  EXPECT_NE(logged.find("from_generator(sensor)"), std::string::npos);
  logged.clear();
  EXPECT_EQ(iterator.save(kIgnore), warned);
  EXPECT_EQ(logged, "");
  th::set_log_sink(before);

  DatasetIterator restored = dataset.make_iterator();
  restored.restore(warned);  // what is missing starts from the beginning
  EXPECT_EQ(pipelines::values(pipelines::rest(restored)), pipelines::values(dataset));
}

TEST(DatasetIterator, RestoresTheSeedThatItDrewItself) {
  const Dataset dataset = Dataset::range(1'000).shuffle(1'000).repeat();
  DatasetIterator one = dataset.make_iterator(), other = dataset.make_iterator();
  const std::string state = one.save();
  const auto expected = pipelines::some(one, 3'000);
  EXPECT_NE(pipelines::some(other, 3'000), expected);
  other.restore(state);
  EXPECT_EQ(pipelines::some(other, 3'000), expected);
}

TEST(DatasetIterator, KeepsTheInputsOfZipInStepIfAnElementOfOneFails) {
  const auto fragile = [](Element element) {
    if (element[0].scalar<std::int64_t>() == 1) throw th::DataLossError("element 1 is broken");
    return element;
  };
  const Dataset broken = pipelines::generated(4).map(fragile);
  for (const bool first : {true, false}) {
    DatasetIterator iterator =
        Dataset::zip({first ? broken : pipelines::generated(4), first ? pipelines::generated(4) : broken})
            .make_iterator();
    Element element;
    ASSERT_TRUE(iterator.next(element));
    EXPECT_THROW((void)iterator.next(element), th::DataLossError);
    for (const Element& pair : pipelines::rest(iterator)) EXPECT_EQ(pair[0], pair[1]) << first;
  }
}

TEST(DatasetIterator, ContinuesAfterAnElementThatFails) {
  for (int variant = 0; variant < 4; ++variant) {
    const auto fragile = [](Element element) {
      if (element[0].scalar<std::int64_t>() == 3) throw th::DataLossError("element 3 is broken");
      return element;
    };
    const bool seeks = variant < 2;
    Dataset dataset = (seeks ? Dataset::range(6) : pipelines::generated(6))
                          .map(fragile, {.num_parallel_calls = variant % 2 == 0 ? 1 : 3});
    if (seeks) dataset = dataset.prefetch(2);
    DatasetIterator iterator = dataset.make_iterator();
    EXPECT_EQ(pipelines::some(iterator, 3).size(), 3U);
    Element element;
    EXPECT_THROW((void)iterator.next(element), th::DataLossError);
    DatasetIterator restored = dataset.make_iterator();
    restored.restore(iterator.save());
    EXPECT_EQ(pipelines::values(pipelines::rest(iterator)), (std::vector<std::int64_t>{4, 5}));
    EXPECT_EQ(pipelines::values(pipelines::rest(restored)), (std::vector<std::int64_t>{4, 5}));
  }
}

TEST(DatasetIterator, WhatASourceThrowsIsNoDamageOfTheState) {
  const auto fails = std::make_shared<bool>(false);
  const Dataset dataset = Dataset::from_generator(pipelines::int_spec(), [fails] {
    return th::Generator{.next =
                             [](Element& element) {
                               element.assign(1, th::Tensor(std::int64_t{1}));
                               return true;
                             },
                         .save = [] { return std::string("1"); },
                         .restore =
                             [fails](std::string_view) {
                               if (*fails) throw th::DataLossError("shard 7 has a wrong checksum");
                             }};
  });
  DatasetIterator iterator = dataset.make_iterator();
  const std::string state = iterator.save();
  *fails = true;
  try {
    iterator.restore(state);
    ADD_FAILURE() << "it was restored";
  } catch (const th::UnknownError& error) {
    EXPECT_STREQ(error.what(),
                 "the input pipeline cannot be brought to its saved position, which is undamaged, because its source "
                 "or a function of it fails: restore of generator 'generator' threw: shard 7 has a wrong checksum");
  }
  *fails = false;
  iterator.restore(state);
}

}  // namespace
