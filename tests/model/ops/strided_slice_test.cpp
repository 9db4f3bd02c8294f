// SPDX-License-Identifier: Apache-2.0
/// @file
/// Shapes and errors of strided slices.
#include <trainhook/model/ops/strided_slice.hpp>

#include <cstdint>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/graph/ops/constant.hpp>

#include "expect_error.hpp"

namespace trainhook {
namespace {

using testing::expect_error;

struct StridedSliceOps : ::testing::Test {
  Output in(const PartialShape& shape) { return placeholder(graph, DType::Float, shape, "x"); }
  Graph graph;
};

TEST_F(StridedSliceOps, ShapeFollowsBoundsAndStrides) {
  EXPECT_EQ(strided_slice(in({4, 5}), {1, 0}, {3, 5}, {1, 2}).shape(), PartialShape({2, 3}));
  EXPECT_EQ(strided_slice(in({4, 5}), {-1}, {-9}, {-2}).shape(), PartialShape({2, 5}));
  EXPECT_EQ(strided_slice(in({4}), {3}, {1}, {1}).shape(), PartialShape({0}));
  EXPECT_EQ(strided_slice(in({4}), {-9}, {9}, {1}).shape(), PartialShape({4}));
  EXPECT_EQ(strided_slice(in({-1, 5}), {1, 1}, {2, 2}, {1, 1}).shape(), PartialShape({-1, 1}));
  EXPECT_FALSE(strided_slice(in({}), {}, {}, {}).shape().rank() > 0);
}

TEST_F(StridedSliceOps, MasksTakeWholeDimensionsAddSomeAndDropSome) {
  EXPECT_EQ(strided_slice(in({4, 5}), {1, 0}, {0, 0}, {1, -1}, {.begin = 2, .end = 3}).shape(), PartialShape({3, 5}));
  EXPECT_EQ(strided_slice(in({4, 5}), {2}, {3}, {1}, {.shrink_axis = 1}).shape(), PartialShape({5}));
  EXPECT_EQ(strided_slice(in({-1, 5}), {2}, {3}, {1}, {.shrink_axis = 1}).shape(), PartialShape({5}));
  EXPECT_EQ(strided_slice(in({4, 5}), {0}, {0}, {1}, {.new_axis = 1}).shape(), PartialShape({1, 4, 5}));
  EXPECT_EQ(strided_slice(in({2, 3, 4, 5}), {0, 1}, {0, 2}, {1, 1}, {.ellipsis = 1}).shape(),
            PartialShape({2, 3, 4, 1}));
  EXPECT_EQ(strided_slice(in({2, 3}), {0, 0, 1}, {0, 0, 2}, {1, 1, 1}, {.ellipsis = 1, .new_axis = 2}).shape(),
            PartialShape({2, 1, 1}));
}

TEST_F(StridedSliceOps, NothingIsTooLargeForABound) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  constexpr std::int64_t kLeast = std::numeric_limits<std::int32_t>::min();
  EXPECT_EQ(strided_slice(in({4}), {kLeast}, {kMost}, {kMost}).shape(), PartialShape({1}));
  EXPECT_EQ(strided_slice(in({4}), {kMost}, {kLeast}, {kLeast}).shape(), PartialShape({1}));
  const std::vector<std::int64_t> dims{4}, least{INT64_MIN}, most{INT64_MAX};
  EXPECT_EQ(detail::StridedSlicer(dims, {most, least, least}, {}).parts().count[0], 1);
  EXPECT_EQ(detail::StridedSlicer(dims, {least, most, most}, {}).parts().count[0], 1);
}

TEST_F(StridedSliceOps, ErrorsNameTheTensorAndTheEntry) {
  expect_error({"begin:0' int32[1]", "end:0' int32[2]", "differ"}, [&] {
    strided_slice(in({4, 5}), {1}, {1, 2}, {1});
  });
  expect_error({"strides[1] is 0"}, [&] { strided_slice(in({4, 5}), {1, 1}, {2, 2}, {1, 0}); });
  expect_error({"index 4", "dimension 0", "of 4"}, [&] { strided_slice(in({4}), {4}, {5}, {1}, {.shrink_axis = 1}); });
  expect_error({"strides[0] is -1", "positive"}, [&] { strided_slice(in({4}), {1}, {2}, {-1}, {.shrink_axis = 1}); });
  expect_error({"more than the 1 dimensions"}, [&] { strided_slice(in({4}), {1, 1}, {2, 2}, {1, 1}); });
  expect_error({"more than one ellipsis"}, [&] { strided_slice(in({4}), {1, 1}, {2, 2}, {1, 1}, {.ellipsis = 3}); });
  expect_error({"at most 8"}, [&] {
    const std::vector<std::int64_t> zeros(8, 0), ones(8, 1);
    strided_slice(in({4}), zeros, zeros, ones, {.new_axis = 255});
  });
}

}  // namespace
}  // namespace trainhook
