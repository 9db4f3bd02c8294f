// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tensors of LibTorch and of this library: which dtypes they share, and what is copied.
#include <trainhook/torch/tensors.hpp>

#include <cstdint>
#include <optional>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <trainhook/core/error.hpp>
#include <trainhook/core/shape.hpp>

namespace trainhook::libtorch {
namespace {

TEST(Tensors, EachSharedDtypeGoesThereAndBack) {
  int shared = 0;
  for (int number = 0; number < static_cast<int>(::torch::ScalarType::NumOptions); ++number) {
    const auto type = static_cast<::torch::ScalarType>(number);
    const std::optional<DType> dtype = find_dtype(type);
    if (!dtype) continue;
    ++shared;
    EXPECT_EQ(scalar_type_of(*dtype), type);
    const ::torch::Tensor there = ::torch::ones({2, 3}, ::torch::kDouble).to(type);
    const Tensor here = to_tensor(there);
    EXPECT_EQ(here.dtype(), *dtype);
    EXPECT_EQ(here.shape(), (Shape{2, 3}));
    EXPECT_TRUE(::torch::equal(from_tensor(here), there)) << ::torch::toString(type);
    EXPECT_TRUE(::torch::equal(view_of(here), there)) << ::torch::toString(type);
  }
  EXPECT_EQ(shared, 12);
}

TEST(Tensors, ElementsComeInRowMajorOrderHoweverTheyLie) {
  const ::torch::Tensor there = ::torch::arange(6, ::torch::kInt).reshape({2, 3}).t();
  EXPECT_EQ(to_tensor(there), Tensor::of<std::int32_t>({0, 3, 1, 4, 2, 5}, Shape{3, 2}));
  EXPECT_EQ(to_tensor(::torch::zeros({1}, ::torch::kInt).expand({3})), Tensor::of<std::int32_t>({0, 0, 0}));
  EXPECT_EQ(to_tensor(::torch::tensor(7.0F, ::torch::requires_grad())), Tensor(7.0F));
}

TEST(Tensors, OnlyAViewSharesMemory) {
  const Tensor here = Tensor::of<float>({1, 2});
  EXPECT_EQ(view_of(here).data_ptr(), static_cast<const void*>(here.bytes().data()));
  from_tensor(here).fill_(9);
  EXPECT_EQ(here, Tensor::of<float>({1, 2}));
}

TEST(Tensors, AViewKeepsTheMemoryAlive) {
  ::torch::Tensor view;
  {
    const Tensor here = Tensor::of<float>({1, 2, 3, 4, 5, 6, 7, 8, 9});
    view = view_of(here);
  }
  EXPECT_EQ(view.sum().item<float>(), 45);
}

TEST(Tensors, SaysWhichDtypeHasNoMatch) {
  EXPECT_THROW((void)scalar_type_of(DType::String), UnimplementedError);
  try {
    (void)dtype_of(::torch::kQInt8, "the tensor 'w'");
    FAIL();
  } catch (const UnimplementedError& error) {
    EXPECT_STREQ(error.what(),
                 "the tensor 'w' has LibTorch's dtype QInt8, which no tensor of this library has; convert it, or save "
                 "it as state");
  }
  EXPECT_THROW((void)to_tensor(::torch::Tensor()), InvalidArgumentError);
}

}  // namespace
}  // namespace trainhook::libtorch
