// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of the kernel of sums of products by labels.
#include <trainhook/compat/kernels.hpp>

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "run_op.hpp"

namespace trainhook {
namespace {

Tensor run(const std::string& equation, const std::vector<Tensor>& inputs) {
  return test::run_op(kernels::einsum(), "Einsum", inputs, {{"T", DType::Float}, {"equation", equation}}, DType::Float);
}

const Tensor kSix = Tensor::of<float>({1, 2, 3, 4, 5, 6}, {2, 3});
const Tensor kFour = Tensor::of<float>({1, 2, 3, 4}, {2, 2});

TEST(EinsumKernels, LabelsAreMultipliedSummedAndTurned) {
  EXPECT_EQ(run("ij,ik->jk", {kSix, kFour}), Tensor::of<float>({13, 18, 17, 24, 21, 30}, {3, 2}));
  EXPECT_EQ(run("ij,ij->i", {kSix, kSix}), Tensor::of<float>({14, 77}));
  EXPECT_EQ(run("ij,kl->", {kSix, kFour}), Tensor(210.0F));
  EXPECT_EQ(run("ij->ji", {kSix}), Tensor::of<float>({1, 4, 2, 5, 3, 6}, {3, 2}));
  EXPECT_EQ(run("ii->i", {kFour}), Tensor::of<float>({1, 4}));
  EXPECT_EQ(run("ii->", {kFour}), Tensor(5.0F));
  EXPECT_EQ(run("i,j->ij", {Tensor::of<float>({1, 2}), Tensor::of<float>({3, 4})}),
            Tensor::of<float>({3, 4, 6, 8}, {2, 2}));
}

TEST(EinsumKernels, BatchesOfMatricesMayBeTurnedOnEitherSide) {
  const Tensor x = Tensor::of<float>({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, {2, 2, 3});
  const Tensor y = Tensor::of<float>({1, 0, 2, 0, 1, 0, 3, 0, 0, 1, 1, 1}, {2, 2, 3});
  const Tensor products = Tensor::of<float>({7, 2, 16, 5, 21, 24, 30, 33}, {2, 2, 2});
  EXPECT_EQ(run("bij,bkj->bik", {x, y}), products);
  EXPECT_EQ(run("bji,bjk->bik", {run("bij->bji", {x}), run("bkj->bjk", {y})}), products);
  EXPECT_EQ(run("bij,bkj->bki", {x, y}), run("bik->bki", {products}));
  EXPECT_EQ(run("ij,j->i", {kSix, Tensor::of<float>({1, 0, 2})}), Tensor::of<float>({7, 16}));
}

TEST(EinsumKernels, AnEmptyResultTakesNoTimeHoweverManyBatches) {
  const std::int64_t many = std::int64_t{1} << 40;
  const Tensor none(DType::Float, Shape{many, 0});
  EXPECT_EQ(run("bi,bj->bij", {none, none}).shape(), (Shape{many, 0, 0}));
  EXPECT_EQ(run("ij->i", {Tensor(DType::Float, Shape{0, many})}).shape(), (Shape{0}));
}

TEST(EinsumKernels, RefusesWhatDoesNotFit) {
  EXPECT_THROW(static_cast<void>(run("ij,jk->ik", {kSix, kFour})), InvalidArgumentError);
  EXPECT_THROW(static_cast<void>(run("ij->j", {Tensor::of<float>({1})})), InvalidArgumentError);
  EXPECT_THROW(static_cast<void>(run("...i->...i", {kSix})), UnimplementedError);
  EXPECT_THROW(static_cast<void>(run("ij", {kSix})), InvalidArgumentError);
}

}  // namespace
}  // namespace trainhook
