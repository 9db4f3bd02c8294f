// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of what each stage of a pipeline gives.
#include <trainhook/data/dataset.hpp>

#include <algorithm>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/testing/log_lines.hpp>

#include "pipelines.hpp"

namespace th = trainhook;
using pipelines::generated;
using pipelines::values;
using th::Dataset;
using th::Element;
using Ints = std::vector<std::int64_t>;

namespace {

// What holds for sources that can seek has to hold for all others too.
class DatasetOver : public ::testing::TestWithParam<bool> {
 protected:
  static Dataset count_to(std::int64_t end) { return GetParam() ? Dataset::range(end) : generated(end); }
};
INSTANTIATE_TEST_SUITE_P(Seekable, DatasetOver, ::testing::Values(true));
INSTANTIATE_TEST_SUITE_P(Streamed, DatasetOver, ::testing::Values(false));

TEST_P(DatasetOver, TakesAndSkips) {
  EXPECT_EQ(values(count_to(5).take(3)), (Ints{0, 1, 2}));
  EXPECT_EQ(values(count_to(5).take(9)), (Ints{0, 1, 2, 3, 4}));
  EXPECT_EQ(values(count_to(5).take(0)), Ints{});
  EXPECT_EQ(values(count_to(3).take(-1)), (Ints{0, 1, 2}));
  EXPECT_EQ(values(count_to(5).skip(3)), (Ints{3, 4}));
  EXPECT_EQ(values(count_to(5).skip(0)), (Ints{0, 1, 2, 3, 4}));
  EXPECT_EQ(values(count_to(5).skip(9)), Ints{});
  EXPECT_EQ(values(count_to(5).skip(-1)), Ints{});
  EXPECT_EQ(values(count_to(9).skip(2).take(4).skip(1)), (Ints{3, 4, 5}));
}

TEST_P(DatasetOver, ShardsAreDisjointAndComplete) {
  EXPECT_EQ(values(count_to(7).shard(3, 0)), (Ints{0, 3, 6}));
  EXPECT_EQ(values(count_to(7).shard(3, 1)), (Ints{1, 4}));
  EXPECT_EQ(values(count_to(7).shard(3, 2)), (Ints{2, 5}));
  EXPECT_EQ(values(count_to(7).shard(1, 0)), values(count_to(7)));
  EXPECT_EQ(values(count_to(2).shard(5, 4)), Ints{});
  EXPECT_THROW((void)count_to(7).shard(3, 3), th::InvalidArgumentError);
  EXPECT_THROW((void)count_to(7).shard(0, 0), th::InvalidArgumentError);
}

TEST_P(DatasetOver, Repeats) {
  EXPECT_EQ(values(count_to(2).repeat(3)), (Ints{0, 1, 0, 1, 0, 1}));
  EXPECT_EQ(values(count_to(2).repeat(0)), Ints{});
  EXPECT_EQ(values(count_to(2).repeat().take(5)), (Ints{0, 1, 0, 1, 0}));
  EXPECT_EQ(values(count_to(0).repeat()), Ints{});  // ends, instead of looking for ever
}

TEST_P(DatasetOver, Concatenates) {
  EXPECT_EQ(values(count_to(2).concatenate(count_to(3))), (Ints{0, 1, 0, 1, 2}));
  EXPECT_EQ(values(count_to(2).concatenate(count_to(3)).repeat(2).skip(1)), (Ints{1, 0, 1, 2, 0, 1, 0, 1, 2}));
  EXPECT_EQ(values(count_to(0).concatenate(count_to(1))), (Ints{0}));
  EXPECT_THROW((void)count_to(2).concatenate(Dataset::from_tensors({th::Tensor(1.0F)})), th::InvalidArgumentError);
}

TEST_P(DatasetOver, MapsAndFilters) {
  EXPECT_EQ(values(count_to(3).map(pipelines::times_ten)), (Ints{0, 10, 20}));
  EXPECT_EQ(values(count_to(7).filter(pipelines::is_even).map(pipelines::times_ten)), (Ints{0, 20, 40, 60}));
  EXPECT_EQ(values(count_to(7).map(pipelines::times_ten).filter(pipelines::is_even).batch(4)),
            (Ints{0, 10, 20, 30, 40, 50, 60}));
}

TEST_P(DatasetOver, MapsToWhatTheSpecSays) {
  const auto to_text = [](const Element& element) {
    return Element{th::Tensor(std::to_string(element[0].scalar<std::int64_t>())), element[0]};
  };
  const Dataset good = count_to(3).map(
      to_text, {.element_spec = th::ElementSpec{{th::DType::String, th::Shape{}}, {th::DType::Int64, th::Shape{}}}});
  EXPECT_EQ(pipelines::all(good)[2][0].scalar<std::string>(), "2");
  try {
    (void)pipelines::all(count_to(3).map(to_text));
    FAIL();
  } catch (const th::InvalidArgumentError& error) {
    EXPECT_STREQ(error.what(), "map gave an element (string[], int64[]) but its element_spec is (int64[])");
  }
}

TEST_P(DatasetOver, BatchesWithAndWithoutTheRemainder) {
  const std::vector<Element> batches = pipelines::all(count_to(7).batch(3));
  ASSERT_EQ(batches.size(), 3U);
  EXPECT_EQ(batches[1][0], th::Tensor::of<std::int64_t>({3, 4, 5}));
  EXPECT_EQ(batches[2][0], th::Tensor::of<std::int64_t>({6}));
  EXPECT_EQ(pipelines::all(count_to(7).batch(3, {.drop_remainder = true})).size(), 2U);
  EXPECT_EQ(pipelines::all(count_to(6).batch(3, {.drop_remainder = true})).size(), 2U);
  EXPECT_EQ(pipelines::all(count_to(6).batch(3)).size(), 2U);
  EXPECT_EQ(pipelines::all(count_to(0).batch(3)).size(), 0U);
  EXPECT_EQ(pipelines::all(count_to(3).batch(INT64_MAX)).size(), 1U);
  EXPECT_EQ(pipelines::all(count_to(8).batch(2).batch(2))[1][0], th::Tensor::of<std::int64_t>({4, 5, 6, 7}, {2, 2}));
  EXPECT_THROW((void)count_to(7).batch(0), th::InvalidArgumentError);
}

TEST_P(DatasetOver, ZipsToTheShortest) {
  const std::vector<Element> pairs =
      pipelines::all(Dataset::zip({count_to(5).skip(2), count_to(9).map(pipelines::times_ten)}));
  ASSERT_EQ(pairs.size(), 3U);
  EXPECT_EQ(pairs[2], (Element{th::Tensor(std::int64_t{4}), th::Tensor(std::int64_t{20})}));
  const Dataset sources = Dataset::zip({count_to(3), count_to(5), count_to(4)});
  EXPECT_EQ(pipelines::all(sources).size(), 3U);
  EXPECT_EQ(pipelines::all(sources.batch(2))[1][2], th::Tensor::of<std::int64_t>({2}));
  EXPECT_THROW((void)Dataset::zip({}), th::InvalidArgumentError);
}

TEST_P(DatasetOver, PrefetchChangesNothing) {
  EXPECT_EQ(values(count_to(50).prefetch(3)), values(count_to(50)));
  EXPECT_EQ(values(count_to(50).batch(7).prefetch(100).repeat(2)), values(count_to(50).repeat(2)));
  EXPECT_THROW((void)count_to(5).prefetch(0), th::InvalidArgumentError);
}

TEST_P(DatasetOver, KnowsCardinalities) {
  const bool seeks = GetParam();
  EXPECT_EQ(count_to(7).cardinality(), seeks ? 7 : th::kUnknownCardinality);
  EXPECT_EQ(count_to(7).batch(2).cardinality(), seeks ? 4 : th::kUnknownCardinality);
  EXPECT_EQ(count_to(7).repeat().cardinality(), seeks ? th::kInfiniteCardinality : th::kUnknownCardinality);
  EXPECT_EQ(count_to(7).repeat().take(5).cardinality(), seeks ? 5 : th::kUnknownCardinality);
  EXPECT_EQ(count_to(7).filter(pipelines::is_even).cardinality(), th::kUnknownCardinality);
}

TEST_P(DatasetOver, InterleavesAsTfDataDoes) {
  const auto from_to = [](const Element& element) {
    const auto first = element[0].scalar<std::int64_t>() * 10;
    return Dataset::range(first, first + element[0].scalar<std::int64_t>());
  };
  EXPECT_EQ(values(count_to(5).interleave(from_to, {.cycle_length = 2})),
            (Ints{10, 20, 21, 30, 31, 40, 32, 41, 42, 43}));
  EXPECT_EQ(values(count_to(5).interleave(from_to, {.cycle_length = 2, .block_length = 3})),
            (Ints{10, 20, 21, 30, 31, 32, 40, 41, 42, 43}));
  const auto six_times = [](const Element& element) { return Dataset::from_tensors(element).repeat(6); };
  EXPECT_EQ(values(count_to(6).skip(1).interleave(six_times, {.cycle_length = 2, .block_length = 4})),
            (Ints{1, 1, 1, 1, 2, 2, 2, 2, 1, 1, 2, 2, 3, 3, 3,
                  3, 4, 4, 4, 4, 3, 3, 4, 4, 5, 5, 5, 5, 5, 5}));  // as its documentation shows
  EXPECT_EQ(values(count_to(4).flat_map(from_to)), (Ints{10, 20, 21, 30, 31, 32}));
  EXPECT_EQ(values(count_to(0).interleave(from_to, {.cycle_length = 9})), Ints{});
  const auto unseeded = [](const Element&) { return Dataset::range(3).shuffle(3); };
  EXPECT_THROW((void)values(count_to(4).flat_map(unseeded)), th::InvalidArgumentError);
  EXPECT_THROW((void)count_to(4).interleave(from_to, {.cycle_length = 0}), th::InvalidArgumentError);
  EXPECT_THROW((void)count_to(4).interleave(from_to, {.block_length = 0}), th::InvalidArgumentError);
}

TEST_P(DatasetOver, MapsInParallelInTheOrderOfTheInput) {
  EXPECT_EQ(values(count_to(200).map(pipelines::times_ten, {.num_parallel_calls = 4})),
            values(count_to(200).map(pipelines::times_ten)));
  EXPECT_THROW((void)count_to(2).map(pipelines::times_ten, {.num_parallel_calls = 0}), th::InvalidArgumentError);
  EXPECT_THROW((void)count_to(2).map(pipelines::times_ten, {.stateful = true, .num_parallel_calls = 2}),
               th::InvalidArgumentError);
}

TEST(Dataset, DescribesItsElementsBeforeTheyAreSeen) {
  const Dataset images =
      Dataset::from_tensor_slices({th::Tensor(th::DType::UInt8, {4, 2, 3}), th::Tensor(th::DType::Int64, {4})});
  EXPECT_EQ(th::detail::spec_to_string(images.element_spec()), "(uint8[2,3], int64[])");
  EXPECT_EQ(th::detail::spec_to_string(images.batch(2).element_spec()), "(uint8[?,2,3], int64[?])");
  EXPECT_EQ(th::detail::spec_to_string(images.batch(2, {.drop_remainder = true}).element_spec()),
            "(uint8[2,2,3], int64[2])");
  EXPECT_EQ(th::detail::spec_to_string(Dataset::zip({images, Dataset::range(3)}).element_spec()),
            "(uint8[2,3], int64[], int64[])");
  const Dataset other =
      Dataset::from_tensor_slices({th::Tensor(th::DType::UInt8, {1, 2, 5}), th::Tensor(th::DType::Int64, {1})});
  EXPECT_EQ(th::detail::spec_to_string(images.concatenate(other).element_spec()), "(uint8[2,?], int64[])");
  EXPECT_THROW((void)pipelines::all(images.concatenate(other).batch(5)),
               th::InvalidArgumentError);  // no batch of different shapes
}

TEST(Dataset, SlicesTensors) {
  const Dataset dataset =
      Dataset::from_tensor_slices({th::Tensor::of<float>({1, 2, 3, 4, 5, 6}, {3, 2}),
                                   th::Tensor::of<std::string>({"a", "b", "c"}), th::Tensor(th::DType::Float, {3, 0})});
  const std::vector<Element> rows = pipelines::all(dataset);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[1][0], th::Tensor::of<float>({3, 4}));
  EXPECT_EQ(rows[1][1], th::Tensor("b"));
  EXPECT_EQ(rows[1][2].shape(), (th::Shape{0}));
  const std::vector<Element> batches = pipelines::all(dataset.skip(1).batch(2));
  EXPECT_EQ(batches[0][0], th::Tensor::of<float>({3, 4, 5, 6}, {2, 2}));
  EXPECT_EQ(batches[0][1], th::Tensor::of<std::string>({"b", "c"}));
  EXPECT_EQ(batches[0][2].shape(), (th::Shape{2, 0}));
  EXPECT_THROW((void)Dataset::from_tensor_slices({}), th::InvalidArgumentError);
  try {
    static_cast<void>(Dataset::from_tensor_slices({th::Tensor(1.0F)}));
    FAIL();
  } catch (const th::InvalidArgumentError& error) {
    EXPECT_STREQ(error.what(),
                 "from_tensor_slices takes the rows of tensors, and a scalar has none; make it a tensor of rank 1, "
                 "or use from_tensors");
  }
  EXPECT_THROW(
      (void)Dataset::from_tensor_slices({th::Tensor(th::DType::Float, {3}), th::Tensor(th::DType::Float, {4})}),
      th::InvalidArgumentError);
}

TEST(Dataset, CountsRangesInBothDirections) {
  EXPECT_EQ(values(Dataset::range(2, 9, 3)), (Ints{2, 5, 8}));
  EXPECT_EQ(values(Dataset::range(5, -2, -3)), (Ints{5, 2, -1}));
  EXPECT_EQ(values(Dataset::range(5, 5)), Ints{});
  EXPECT_EQ(values(Dataset::range(5, 2)), Ints{});
  EXPECT_EQ(values(Dataset::range(INT64_MIN, INT64_MAX, INT64_MAX)), (Ints{INT64_MIN, -1, INT64_MAX - 1}));
  EXPECT_THROW((void)Dataset::range(0, 5, 0), th::InvalidArgumentError);
  EXPECT_THROW((void)Dataset::range(INT64_MIN, INT64_MAX), th::InvalidArgumentError);
}

TEST(Dataset, ComputesElementsFromTheirNumber) {
  const Dataset squares = Dataset::from_function(4, [](std::int64_t i) { return Element{th::Tensor(i * i)}; });
  EXPECT_EQ(values(squares.batch(3)), (Ints{0, 1, 4, 9}));
  EXPECT_THROW((void)Dataset::from_function(0, [](std::int64_t i) { return Element{th::Tensor(i)}; }),
               th::InvalidArgumentError);
  EXPECT_THROW(
      (void)Dataset::from_function(-1, pipelines::int_spec(), [](std::int64_t i) { return Element{th::Tensor(i)}; }),
      th::InvalidArgumentError);
  const Dataset wrong =
      Dataset::from_function(4, pipelines::int_spec(), [](std::int64_t) { return Element{th::Tensor(1.0F)}; });
  EXPECT_THROW((void)pipelines::all(wrong), th::InvalidArgumentError);
}

TEST(Dataset, StartsAGeneratorAgainForEachPass) {
  EXPECT_EQ(values(generated(3).repeat(2)), (Ints{0, 1, 2, 0, 1, 2}));
  EXPECT_TRUE(generated(3).external_state().empty());
  EXPECT_EQ(pipelines::unsavable(3).external_state().size(), 1U);
}

TEST(Dataset, SaysWhichFunctionOfTheProgramThrew) {
  const auto fail = [](const Element&) -> Element { throw std::range_error("too far"); };
  const Dataset input = Dataset::range(2);
  const th::Generator broken{.next = [](Element&) -> bool { throw std::range_error("too far"); }};
  for (const auto& [whose, dataset] : std::vector<std::pair<std::string, Dataset>>{
           {"the function of map", input.map(fail)},
           {"the function of map", input.map(fail, {.num_parallel_calls = 2}).take(1)},
           {"the predicate of filter", input.filter([&](const Element& element) { return fail(element).empty(); })},
           {"the function of interleave",
            input.interleave([](const Element&) -> Dataset { throw std::range_error("too far"); })},
           {"the function of from_function",
            Dataset::from_function(1, pipelines::int_spec(),
                                   [](std::int64_t) -> Element { throw std::range_error("too far"); })},
           {"next of generator 'numbers'", Dataset::from_generator(
                                               pipelines::int_spec(), [=] { return broken; }, "numbers")}}) {
    const th::testing::LogLines log;
    EXPECT_THROW((void)pipelines::all(dataset), std::range_error) << whose;
    EXPECT_GE(log.count("E " + whose + " threw: too far"), 1U);
  }
}

}  // namespace
