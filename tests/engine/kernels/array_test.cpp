// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of kernels, shapes, casts and one-hot vectors.
#include <trainhook/engine/kernels.hpp>
#include <trainhook/graph/ops/cast.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "run_op.hpp"

namespace trainhook {
namespace {

Tensor ints(std::initializer_list<std::int32_t> values) { return Tensor::of<std::int32_t>(values); }

Tensor run(const std::string& type, const std::vector<Tensor>& inputs, const Attrs& attrs, DType dtype) {
  return test::run_op(kernels::array(), type, inputs, attrs, dtype);
}

TEST(ArrayKernels, TellShapesAndSizes) {
  const Tensor x(DType::Float, Shape{2, 3});
  EXPECT_EQ(run("Shape", {x}, {{"out_type", DType::Int32}}, DType::Int32), ints({2, 3}));
  EXPECT_EQ(run("Shape", {x}, {{"out_type", DType::Int64}}, DType::Int64), Tensor::of<std::int64_t>({2, 3}));
  EXPECT_EQ(run("Size", {x}, {{"out_type", DType::Int32}}, DType::Int32), Tensor(std::int32_t{6}));
  EXPECT_EQ(run("Shape", {Tensor(1.0F)}, {{"out_type", DType::Int32}}, DType::Int32), ints({}));
  const std::vector<Tensor> both = test::run_op(kernels::array(), "ShapeN", {x, Tensor(DType::Float, Shape{4})},
                                                {{"out_type", DType::Int32}}, std::vector{DType::Int32, DType::Int32});
  EXPECT_EQ(both, (std::vector{ints({2, 3}), ints({4})}));
}

TEST(ArrayKernels, CountDimensionsAndNumbers) {
  EXPECT_EQ(run("Rank", {Tensor(DType::Float, Shape{2, 3})}, {}, DType::Int32), Tensor(std::int32_t{2}));
  const auto range = [](const Tensor& start, const Tensor& limit, const Tensor& delta) {
    return run("Range", {start, limit, delta}, {{"Tidx", start.dtype()}}, start.dtype());
  };
  EXPECT_EQ(range(Tensor(2), Tensor(9), Tensor(3)), ints({2, 5, 8}));
  EXPECT_EQ(range(Tensor(2), Tensor(-2), Tensor(-2)), ints({2, 0}));
  EXPECT_EQ(range(Tensor(2), Tensor(2), Tensor(-2)), ints({}));
  EXPECT_EQ(range(Tensor(0.5), Tensor(1.6), Tensor(0.5)), Tensor::of<double>({0.5, 1, 1.5}));
  EXPECT_EQ(range(Tensor(INT64_MAX - 1), Tensor(INT64_MAX), Tensor(std::int64_t{5})),
            Tensor::of<std::int64_t>({INT64_MAX - 1}));
  constexpr std::int64_t kQuarter = std::int64_t{1} << 62;
  EXPECT_EQ(range(Tensor(INT64_MIN), Tensor(INT64_MAX), Tensor(kQuarter)),
            Tensor::of<std::int64_t>({INT64_MIN, INT64_MIN + kQuarter, 0, kQuarter}));
  const Tensor many = range(Tensor(-7), Tensor(-700), Tensor(-3));
  ASSERT_EQ(many.shape(), (Shape{231}));
  for (std::int32_t i = 0; i < 231; ++i) EXPECT_EQ(many.data<std::int32_t>()[static_cast<std::size_t>(i)], -7 - 3 * i);
  EXPECT_THROW(range(Tensor(2), Tensor(1), Tensor(1)), InvalidArgumentError);
  EXPECT_THROW(range(Tensor(2), Tensor(3), Tensor(0)), InvalidArgumentError);
  EXPECT_THROW(range(Tensor(INT64_MIN), Tensor(INT64_MAX), Tensor(std::int64_t{1})), InvalidArgumentError);
  EXPECT_THROW(range(Tensor(0.0), Tensor(1e300), Tensor(1e-300)), InvalidArgumentError);
}

TEST(ArrayKernels, StitchRowsTogether) {
  const auto stitch = [](const std::vector<Tensor>& inputs) { return run("DynamicStitch", inputs, {}, DType::Float); };
  EXPECT_EQ(stitch({Tensor(3), ints({1, 0}), Tensor::of<float>({7, 8}), Tensor::of<float>({1, 2, 3, 4}, {2, 2})}),
            Tensor::of<float>({3, 4, 1, 2, 0, 0, 7, 8}, {4, 2}));
  EXPECT_EQ(stitch({ints({0, 0}), Tensor::of<float>({1, 2})}), Tensor::of<float>({2}));
  EXPECT_EQ(run("ParallelDynamicStitch", {ints({1, 0}), Tensor::of<float>({1, 2})}, {}, DType::Float),
            Tensor::of<float>({2, 1}));
  EXPECT_EQ(stitch({ints({}), Tensor::of<float>({}, {0, 3})}).shape(), (Shape{0, 3}));
  EXPECT_THROW(stitch({ints({-1}), Tensor::of<float>({1})}), InvalidArgumentError);
  EXPECT_THROW(stitch({ints({0, 1}), Tensor::of<float>({1})}), InvalidArgumentError);
  EXPECT_THROW(stitch({ints({0}), ints({1}), Tensor::of<float>({1}), Tensor::of<float>({1, 2}, {1, 2})}),
               InvalidArgumentError);
}

TEST(ArrayKernels, GiveElementsAnotherShape) {
  const Tensor x = Tensor::of<float>({1, 2, 3, 4, 5, 6}, {2, 3});
  EXPECT_EQ(run("Reshape", {x, ints({3, -1})}, {}, DType::Float), Tensor::of<float>({1, 2, 3, 4, 5, 6}, {3, 2}));
  EXPECT_EQ(run("Reshape", {Tensor::of<float>({7}, {1, 1}), ints({})}, {}, DType::Float), Tensor(7.0F));
  EXPECT_THROW(run("Reshape", {x, ints({4, -1})}, {}, DType::Float), InvalidArgumentError);
  EXPECT_THROW(run("Reshape", {x, ints({-1, -1})}, {}, DType::Float), InvalidArgumentError);
  EXPECT_THROW(run("Reshape", {x, ints({5})}, {}, DType::Float), InvalidArgumentError);
  EXPECT_EQ(run("ExpandDims", {x, Tensor(std::int32_t{-1})}, {}, DType::Float).shape(), (Shape{2, 3, 1}));
  EXPECT_EQ(run("ExpandDims", {x, Tensor(std::int32_t{0})}, {}, DType::Float).shape(), (Shape{1, 2, 3}));
  const Tensor thin(DType::Float, Shape{1, 2, 1});
  EXPECT_EQ(run("Squeeze", {thin}, {{"squeeze_dims", std::vector<std::int64_t>{}}}, DType::Float).shape(), (Shape{2}));
  EXPECT_EQ(run("Squeeze", {thin}, {{"squeeze_dims", std::vector<std::int64_t>{-1}}}, DType::Float).shape(),
            (Shape{1, 2}));
  EXPECT_THROW(run("Squeeze", {thin}, {{"squeeze_dims", std::vector<std::int64_t>{1}}}, DType::Float),
               InvalidArgumentError);
}

TEST(ArrayKernels, CastBetweenDtypes) {
  const auto cast = [](const Tensor& x, DType to) { return run("Cast", {x}, {{"SrcT", x.dtype()}, {"DstT", to}}, to); };
  EXPECT_EQ(cast(Tensor::of<float>({1.9F, -1.9F}), DType::Int32), ints({1, -1}));
  EXPECT_EQ(cast(ints({0, 3}), DType::Bool), Tensor::of<bool>({false, true}));
  EXPECT_EQ(cast(Tensor::of<std::uint8_t>({0, 255}), DType::Float), Tensor::of<float>({0, 255}));
  EXPECT_EQ(cast(Tensor::of<float>({2}), DType::Float), Tensor::of<float>({2}));
  EXPECT_THROW(cast(Tensor("a"), DType::Float), UnimplementedError);
}

TEST(ArrayKernels, CastFromAndToDtypesThatFewUse) {
  const auto cast = [](const Tensor& x, DType to) { return run("Cast", {x}, {{"SrcT", x.dtype()}, {"DstT", to}}, to); };
  const Tensor numbers = Tensor::of<float>({0, 1.5F, 200});
  for (const DType dtype : {DType::Int16, DType::UInt16, DType::UInt32, DType::UInt64}) {
    const Tensor result = cast(numbers, dtype);
    EXPECT_EQ(result.dtype(), dtype);
    EXPECT_EQ(cast(result, DType::Float), Tensor::of<float>({0, 1, 200})) << dtype_name(dtype);
  }
  EXPECT_EQ(cast(Tensor::of<double>({-3.9}), DType::Int8), Tensor::of<std::int8_t>({-3}));
  for (const DType dtype : {DType::Half, DType::BFloat16}) {
    EXPECT_EQ(cast(cast(numbers, dtype), DType::Double), Tensor::of<double>({0, 1.5, 200})) << dtype_name(dtype);
    EXPECT_EQ(cast(cast(numbers, dtype), DType::Bool), Tensor::of<bool>({false, true, true})) << dtype_name(dtype);
  }
  const std::int64_t large = (std::int64_t{1} << 62) + 1;  // no double
  EXPECT_EQ(cast(Tensor::of<std::int64_t>({large}), DType::UInt64),
            Tensor::of<std::uint64_t>({static_cast<std::uint64_t>(large)}));
  EXPECT_THROW(cast(numbers, DType::Complex64), UnimplementedError);
}

template <class From, class To>
void expect_cast() {
  for (const std::size_t size : {1U, 7U, 70U}) {
    Tensor x(dtype_of<From>, Shape{static_cast<std::int64_t>(size)});
    const std::span<From> values = x.overwrite_data<From>();
    for (std::size_t i = 0; i < size; ++i) values[i] = static_cast<From>(i % 3 == 0 ? 0 : 200 - i * 2);
    const Tensor result = run("Cast", {x}, {{"SrcT", dtype_of<From>}, {"DstT", dtype_of<To>}}, dtype_of<To>);
    for (std::size_t i = 0; i < size; ++i)
      EXPECT_EQ(result.data<To>()[i], static_cast<To>(values[i])) << i << " of " << size;
  }
}

template <class From, class... To>
void expect_casts_to() {
  (expect_cast<From, To>(), ...);
}
template <class... Types>
void expect_casts_between() {
  (expect_casts_to<Types, Types...>(), ...);
}

TEST(ArrayKernels, CastManyElementsBetweenAllDtypes) {
  expect_casts_between<float, double, std::int32_t, std::int64_t, std::uint8_t, bool>();
}

TEST(ArrayKernels, FillTensors) {
  EXPECT_EQ(run("Fill", {ints({2, 2}), Tensor(1.5F)}, {{"T", DType::Float}}, DType::Float),
            Tensor::of<float>({1.5F, 1.5F, 1.5F, 1.5F}, {2, 2}));
  EXPECT_EQ(run("Fill", {ints({2}), Tensor("x")}, {{"T", DType::String}}, DType::String),
            Tensor::of<std::string>({"x", "x"}));
  EXPECT_EQ(run("ZerosLike", {Tensor::of<float>({1, 2})}, {{"T", DType::Float}}, DType::Float),
            Tensor::of<float>({0, 0}));
  EXPECT_EQ(run("OnesLike", {ints({5, 6})}, {{"T", DType::Int32}}, DType::Int32), ints({1, 1}));
  const Tensor many = run("OnesLike", {Tensor(DType::Double, {2, 777})}, {{"T", DType::Double}}, DType::Double);
  EXPECT_EQ(std::ranges::count(many.data<double>(), 1.0), 2 * 777);
}

TEST(ArrayKernels, HaveEmptyStringsForZeros) {
  EXPECT_EQ(run("ZerosLike", {Tensor::of<std::string>({"a", "b"})}, {}, DType::String),
            Tensor::of<std::string>({"", ""}));
}

TEST(ArrayKernels, MakeOneHotVectors) {
  const auto one_hot = [](const Tensor& indices, std::int64_t axis) {
    return run("OneHot", {indices, Tensor(std::int32_t{3}), Tensor(1.0F), Tensor(0.0F)},
               {{"axis", axis}, {"T", DType::Float}, {"TI", indices.dtype()}}, DType::Float);
  };
  EXPECT_EQ(one_hot(ints({2, 0, 7}), -1), Tensor::of<float>({0, 0, 1, 1, 0, 0, 0, 0, 0}, {3, 3}));
  EXPECT_EQ(one_hot(ints({2, 0}), 0), Tensor::of<float>({0, 1, 0, 0, 1, 0}, {3, 2}));
  EXPECT_EQ(one_hot(Tensor(std::int64_t{1}), -1), Tensor::of<float>({0, 1, 0}));
}

TEST(ArrayKernels, TellWhatBroadcastingRepeated) {
  const std::vector<Tensor> axes =
      test::run_op(kernels::array(), "BroadcastGradientArgs", {ints({2, 1, 4}), ints({3, 4})}, {{"T", DType::Int32}},
                   std::vector{DType::Int32, DType::Int32});
  EXPECT_EQ(axes[0], ints({1}));
  EXPECT_EQ(axes[1], ints({0}));
}

}  // namespace
}  // namespace trainhook
