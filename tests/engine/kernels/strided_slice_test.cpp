// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of kernels, strided slices.
#include <trainhook/engine/kernels.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "run_op.hpp"

namespace trainhook {
namespace {

Tensor bounds(std::initializer_list<std::int32_t> values) { return Tensor::of<std::int32_t>(values); }

Attrs masks(std::int64_t begin, std::int64_t end, std::int64_t shrink) {
  return {{"begin_mask", begin},
          {"end_mask", end},
          {"ellipsis_mask", std::int64_t{0}},
          {"new_axis_mask", std::int64_t{0}},
          {"shrink_axis_mask", shrink}};
}

Tensor run(const std::string& type, const std::vector<Tensor>& inputs, const Attrs& attrs) {
  return test::run_op(kernels::strided_slice(), type, inputs, attrs,
                      inputs.back().dtype() == DType::Float ? DType::Float : inputs[0].dtype());
}

const Tensor& counted() {
  static const Tensor x = Tensor::of<float>({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, {3, 4});
  return x;
}

TEST(StridedSliceKernels, CutForwardsAndBackwards) {
  EXPECT_EQ(run("StridedSlice", {counted(), bounds({1, 0}), bounds({3, 4}), bounds({1, 2})}, masks(0, 0, 0)),
            Tensor::of<float>({4, 6, 8, 10}, {2, 2}));
  EXPECT_EQ(run("StridedSlice", {counted(), bounds({0, 0}), bounds({0, 0}), bounds({-1, -3})}, masks(3, 3, 0)),
            Tensor::of<float>({11, 8, 7, 4, 3, 0}, {3, 2}));
  EXPECT_EQ(run("StridedSlice", {counted(), bounds({-1}), bounds({0}), bounds({1})}, masks(0, 0, 1)),
            Tensor::of<float>({8, 9, 10, 11}));
  EXPECT_EQ(run("StridedSlice", {counted(), bounds({2}), bounds({1}), bounds({1})}, masks(0, 0, 0)).shape(),
            (Shape{0, 4}));
  const Tensor words = Tensor::of<std::string>({"a", "b", "c"});
  EXPECT_EQ(run("StridedSlice", {words, bounds({0}), bounds({0}), bounds({-2})}, masks(1, 1, 0)),
            Tensor::of<std::string>({"c", "a"}));
  EXPECT_THROW(run("StridedSlice", {counted(), bounds({3}), bounds({4}), bounds({1})}, masks(0, 0, 1)),
               InvalidArgumentError);
}

TEST(StridedSliceKernels, GradientIsZeroBesideTheSlice) {
  EXPECT_EQ(run("StridedSliceGrad",
                {bounds({2, 3}), bounds({0, 2}), bounds({1, -9}), bounds({1, -2}), Tensor::of<float>({5, 6}, {1, 2})},
                masks(0, 0, 0)),
            Tensor::of<float>({6, 0, 5, 0, 0, 0}, {2, 3}));
  EXPECT_THROW(
      run("StridedSliceGrad",
          {bounds({2, 3}), bounds({0}), bounds({1}), bounds({1}), Tensor::of<float>({5, 6}, {1, 2})}, masks(0, 0, 0)),
      InvalidArgumentError);
}

}  // namespace
}  // namespace trainhook
