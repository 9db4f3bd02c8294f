// SPDX-License-Identifier: Apache-2.0
/// @file
/// Shapes and errors of split and reverse.
#include <trainhook/model/ops/split.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include <allocations.hpp>
#include <trainhook/graph/ops/constant.hpp>

#include "expect_error.hpp"

namespace trainhook {
namespace {

using testing::expect_error;

struct SplitOps : ::testing::Test {
  Output in(const PartialShape& shape) { return placeholder(graph, DType::Float, shape, "x"); }
  Graph graph;
};

TEST_F(SplitOps, SplitGivesEqualParts) {
  const std::vector<Output> parts = split(in({4, 6}), 3, -1);
  ASSERT_EQ(parts.size(), 3U);
  EXPECT_EQ(parts[2].shape(), PartialShape({4, 2}));
  EXPECT_EQ(parts[2].name(), "split:2");
  EXPECT_EQ(split(in({-1, 6}), 2)[0].shape(), PartialShape({-1, 6}));
  expect_error({"dimension 0 of 'x", "3 equal parts"}, [&] { split(in({4, 6}), 3); });
  expect_error({"into 0 parts"}, [&] { split(in({4, 6}), 0); });
  expect_error({"is a scalar"}, [&] { split(in(PartialShape(Shape{})), 1); });
  expect_error({"axis 2"}, [&] { split(in({4, 6}), 1, 2); });
}

TEST_F(SplitOps, SplitGivesPartsOfSizes) {
  const std::vector<Output> parts = split(in({4, 6}), {1, -1, 3}, 1);
  ASSERT_EQ(parts.size(), 3U);
  EXPECT_EQ(parts[0].shape(), PartialShape({4, 1}));
  EXPECT_EQ(parts[1].shape(), PartialShape({4, 2}));
  EXPECT_EQ(split(in({-1, 6}), {1, -1})[1].shape(), PartialShape({-1, 6}));
  expect_error({"[1,2]", "dimension 0 of 'x"}, [&] { split(in({4, 6}), {1, 2}); });
  expect_error({"[?,?]"}, [&] { split(in({4, 6}), {-1, -1}); });
  expect_error({"-2 cannot be the size"}, [&] { split(in({4, 6}), {-2, 6}); });
}

TEST_F(SplitOps, APartOfASizeCostsTheSameHoweverManyThereAre) {
  const auto cost_of_a_part = [&](std::int64_t parts) {  // a copy of all sizes for each part takes more and more
    const Output x = in({parts});
    const std::vector<std::int64_t> sizes(static_cast<std::size_t>(parts), 1);
    const support::AllocationCount count;
    static_cast<void>(split(x, sizes));
    return static_cast<double>(count.so_far()) / static_cast<double>(parts);
  };
  static_cast<void>(cost_of_a_part(2));
  EXPECT_LE(cost_of_a_part(2048), cost_of_a_part(64) + 1);
}

TEST_F(SplitOps, ReverseKeepsTheShape) {
  EXPECT_EQ(reverse(in({4, -1}), {0, -1}).shape(), PartialShape({4, -1}));
  expect_error({"named twice"}, [&] { reverse(in({4, 6}), {0, -2}); });
  expect_error({"axis 2"}, [&] { reverse(in({4, 6}), {2}); });
}

}  // namespace
}  // namespace trainhook
