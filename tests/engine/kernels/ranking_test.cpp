// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of kernels, the largest elements of rows.
#include <trainhook/engine/kernels.hpp>

#include <cmath>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "run_op.hpp"

namespace trainhook {
namespace {

std::vector<Tensor> top_k(const Tensor& x, std::int32_t k) {
  return test::run_op(kernels::ranking(), "TopKV2", {x, Tensor(k)},
                      {{"T", x.dtype()}, {"Tk", DType::Int32}, {"index_type", DType::Int32}},
                      std::vector<DType>{x.dtype(), DType::Int32});
}

TEST(RankingKernels, TopKGivesTheLargestAndOfEqualOnesTheFirst) {
  const std::vector<Tensor> top = top_k(Tensor::of<float>({1, 3, 3, 2, -1, -2, NAN, -1}, {2, 4}), 3);
  EXPECT_EQ(top[0], Tensor::of<float>({3, 3, 2, -1, -1, -2}, {2, 3}));
  EXPECT_EQ(top[1], Tensor::of<std::int32_t>({1, 2, 3, 0, 3, 1}, {2, 3}));
  EXPECT_EQ(top_k(Tensor::of<std::int64_t>({5, 7}), 0)[0].shape(), (Shape{0}));
  EXPECT_THROW(top_k(Tensor::of<float>({1, 2}), 3), InvalidArgumentError);
}

TEST(RankingKernels, InTopKCountsThoseThatAreLarger) {
  const Tensor predictions = Tensor::of<float>({1, 3, 3, 1, 3, 3, 1, 3, 3, 1, INFINITY, 3, 1, 2, 3}, {5, 3});
  EXPECT_EQ(
      test::run_op(kernels::ranking(), "InTopKV2", {predictions, Tensor::of<std::int32_t>({0, 1, 3, 1, 1}), Tensor(2)},
                   {{"T", DType::Int32}}, DType::Bool),
      Tensor::of<bool>({false, true, false, false, true}));
}

TEST(RankingKernels, InTopKHasNoPlaceForATargetThatIsNoClassOrWhoseRowIsNotFinite) {
  const auto in_top = [](const Tensor& predictions, std::int64_t target, std::int64_t k) {
    return test::run_op(kernels::ranking(), "InTopKV2", {predictions, Tensor::of<std::int64_t>({target}), Tensor(k)},
                        {{"T", DType::Int64}}, DType::Bool);
  };
  const Tensor yes = Tensor::of<bool>({true});
  const Tensor no = Tensor::of<bool>({false});
  EXPECT_EQ(in_top(Tensor::of<float>({3, 2, 1}, {1, 3}), 0, 1), yes);
  EXPECT_EQ(in_top(Tensor::of<float>({3, 2, 1}, {1, 3}), 0, 0), no);
  EXPECT_EQ(in_top(Tensor::of<float>({3, 2, 1}, {1, 3}), -1, 3), no);
  EXPECT_EQ(in_top(Tensor::of<float>({3, 2, 1}, {1, 3}), 3, 3), no);
  EXPECT_EQ(in_top(Tensor::of<float>({3, 2, NAN}, {1, 3}), 0, 3), no);
  EXPECT_EQ(in_top(Tensor::of<float>({3, 2, -INFINITY}, {1, 3}), 0, 3), no);
  EXPECT_EQ(in_top(Tensor::of<float>({NAN, 2, 1}, {1, 3}), 0, 3), no);
}

}  // namespace
}  // namespace trainhook
