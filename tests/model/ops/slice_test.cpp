// SPDX-License-Identifier: Apache-2.0
/// @file
/// Shapes and errors of the ops that cut and enlarge.
#include <trainhook/model/ops/slice.hpp>

#include <gtest/gtest.h>

#include <trainhook/graph/ops/constant.hpp>

#include "expect_error.hpp"

namespace trainhook {
namespace {

using testing::expect_error;

struct SliceOps : ::testing::Test {
  Output in(const PartialShape& shape, DType dtype = DType::Float) { return placeholder(graph, dtype, shape, "x"); }
  Graph graph;
};

TEST_F(SliceOps, SliceTakesWhatIsLeftForMinusOne) {
  EXPECT_EQ(slice(in({4, 5}), {1, 0}, {2, -1}).shape(), PartialShape({2, 5}));
  EXPECT_EQ(slice(in({-1, 5}), {1, 2}, {-1, -1}).shape(), PartialShape({-1, 3}));
  expect_error({"[4,5]", "begin [1,3]", "size [2,3]"}, [&] { slice(in({4, 5}), {1, 3}, {2, 3}); });
  expect_error({"begin and size"}, [&] { slice(in({4, 5}), {1}, {2, 3}); });
  expect_error({"leave"}, [&] { slice(in({-1}), {-1}, {2}); });
}

TEST_F(SliceOps, PadAndTileEnlarge) {
  EXPECT_EQ(pad(in({-1, 3}), {{1, 1}, {0, 2}}).shape(), PartialShape({-1, 5}));
  EXPECT_EQ(tile(in({-1, 3}), {2, 4}).shape(), PartialShape({-1, 12}));
  expect_error({"dimension 1", "negative"}, [&] { pad(in({2, 2}), {{0, 0}, {0, -1}}); });
  expect_error({"negative"}, [&] { tile(in({2}), {-1}); });
}

TEST_F(SliceOps, WhereBroadcastsAllThree) {
  EXPECT_EQ(where(in({-1, 1}, DType::Bool), in({3}), in(Shape{})).shape(), PartialShape({-1, 3}));
  expect_error({"bool"}, [&] { where(in({2}), in({2}), in({2})); });
  expect_error({"[2]", "[3]"}, [&] { where(in({2}, DType::Bool), in({2}), in({3})); });
}

}  // namespace
}  // namespace trainhook
