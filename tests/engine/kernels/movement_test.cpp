// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of kernels, what moves elements.
#include <trainhook/engine/kernels.hpp>

#include <complex>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "run_op.hpp"

namespace trainhook {
namespace {

Tensor ints(std::initializer_list<std::int32_t> values) { return Tensor::of<std::int32_t>(values); }
Tensor axis(std::int32_t value) { return Tensor(value); }

Tensor run(const std::string& type, const std::vector<Tensor>& inputs, const Attrs& attrs = {}) {
  return test::run_op(kernels::movement(), type, inputs, attrs, inputs[0].dtype());
}

const Tensor& matrix() {
  static const Tensor tensor = Tensor::of<float>({1, 2, 3, 4, 5, 6}, {2, 3});
  return tensor;
}

TEST(MovementKernels, Transpose) {
  EXPECT_EQ(run("Transpose", {matrix(), ints({1, 0})}), Tensor::of<float>({1, 4, 2, 5, 3, 6}, {3, 2}));
  EXPECT_EQ(run("Transpose", {Tensor::of<std::string>({"a", "b", "c", "d"}, {2, 2}), ints({1, 0})}),
            Tensor::of<std::string>({"a", "c", "b", "d"}, {2, 2}));
  const Tensor cube = Tensor::of<std::int64_t>({1, 2, 3, 4, 5, 6, 7, 8}, {2, 2, 2});
  EXPECT_EQ(run("Transpose", {cube, ints({2, 0, 1})}), Tensor::of<std::int64_t>({1, 3, 5, 7, 2, 4, 6, 8}, {2, 2, 2}));
  EXPECT_EQ(run("Transpose", {Tensor(1.0F), ints({})}), Tensor(1.0F));
  EXPECT_THROW(run("Transpose", {matrix(), ints({0, 0})}), InvalidArgumentError);
}

TEST(MovementKernels, InvertPermutation) {
  const auto inverse = [](const Tensor& order) { return run("InvertPermutation", {order}, {{"T", order.dtype()}}); };
  EXPECT_EQ(inverse(ints({2, 0, 1})), ints({1, 2, 0}));
  EXPECT_EQ(inverse(Tensor::of<std::int64_t>({1, 2, 0})), Tensor::of<std::int64_t>({2, 0, 1}));
  EXPECT_THROW(inverse(ints({2, 2, 1})), InvalidArgumentError);
}

TEST(MovementKernels, Reverse) {
  EXPECT_EQ(run("ReverseV2", {matrix(), ints({1})}), Tensor::of<float>({3, 2, 1, 6, 5, 4}, {2, 3}));
  EXPECT_EQ(run("ReverseV2", {matrix(), ints({-2, 1})}), Tensor::of<float>({6, 5, 4, 3, 2, 1}, {2, 3}));
  EXPECT_EQ(run("ReverseV2", {matrix(), ints({})}), matrix());
  EXPECT_EQ(run("ReverseV2", {Tensor::of<std::string>({"a", "b"}), ints({0})}), Tensor::of<std::string>({"b", "a"}));
  EXPECT_EQ(run("ReverseV2", {Tensor(DType::Float, Shape{0, 2}), ints({0})}), Tensor(DType::Float, Shape{0, 2}));
  EXPECT_THROW(run("ReverseV2", {matrix(), ints({1, -1})}), InvalidArgumentError);
}

template <class T>
void expect_reversed_rows() {
  for (const std::int64_t width : {1, 2, 15, 16, 33}) {
    Tensor x(dtype_of<T>, {3, width});
    Tensor reversed(dtype_of<T>, {3, width});
    for (std::int64_t i = 0; i < x.num_elements(); ++i) {
      const std::int64_t row = i / width * width;
      x.template mutable_data<T>()[static_cast<std::size_t>(i)] = static_cast<T>(static_cast<double>(i));
      reversed.template mutable_data<T>()[static_cast<std::size_t>(row + width - 1 - (i - row))] =
          static_cast<T>(static_cast<double>(i));
    }
    EXPECT_EQ(run("ReverseV2", {x, ints({1})}), reversed) << width;
  }
}

TEST(MovementKernels, ReverseRowsOfElementsOfAnySize) {
  expect_reversed_rows<std::uint8_t>();
  expect_reversed_rows<std::int16_t>();
  expect_reversed_rows<float>();
  expect_reversed_rows<double>();
  expect_reversed_rows<std::complex<double>>();
}

TEST(MovementKernels, RepeatAnElementAlongALongRow) {
  const Tensor wide = run("BroadcastTo", {Tensor::of<float>({1, 2}, {2, 1}), ints({2, 5000})});
  for (std::size_t i = 0; i < 10'000; ++i) ASSERT_EQ(wide.data<float>()[i], i < 5000 ? 1 : 2);
  const Tensor texts = run("BroadcastTo", {Tensor::of<std::string>({"a", "b"}, {2, 1}), ints({2, 2})});
  EXPECT_EQ(texts, Tensor::of<std::string>({"a", "a", "b", "b"}, {2, 2}));
}

TEST(MovementKernels, Split) {
  const auto split = [](const std::string& type, const std::vector<Tensor>& inputs, std::size_t count) {
    return test::run_op(kernels::movement(), type, inputs, {}, std::vector<DType>(count, DType::Float));
  };
  EXPECT_EQ(split("Split", {Tensor(1), matrix()}, 3)[1], Tensor::of<float>({2, 5}, {2, 1}));
  EXPECT_EQ(split("Split", {Tensor(-2), matrix()}, 2)[1], Tensor::of<float>({4, 5, 6}, {1, 3}));
  EXPECT_THROW(split("Split", {Tensor(1), matrix()}, 2), InvalidArgumentError);
  const std::vector<Tensor> parts = split("SplitV", {matrix(), ints({1, -1, 0}), Tensor(1)}, 3);
  EXPECT_EQ(parts[0], Tensor::of<float>({1, 4}, {2, 1}));
  EXPECT_EQ(parts[1], Tensor::of<float>({2, 3, 5, 6}, {2, 2}));
  EXPECT_EQ(parts[2].shape(), (Shape{2, 0}));
  EXPECT_THROW(split("SplitV", {matrix(), ints({1, 1}), Tensor(1)}, 2), InvalidArgumentError);
  EXPECT_THROW(split("SplitV", {matrix(), ints({4, -1}), Tensor(1)}, 2), InvalidArgumentError);
  EXPECT_THROW(split("SplitV", {matrix(), ints({3}), Tensor(1)}, 2), InvalidArgumentError);
}

TEST(MovementKernels, Join) {
  EXPECT_EQ(run("ConcatV2", {matrix(), Tensor::of<float>({7, 8, 9}, {1, 3}), axis(0)}),
            Tensor::of<float>({1, 2, 3, 4, 5, 6, 7, 8, 9}, {3, 3}));
  EXPECT_EQ(run("ConcatV2", {matrix(), Tensor::of<float>({7, 8}, {2, 1}), axis(-1)}),
            Tensor::of<float>({1, 2, 3, 7, 4, 5, 6, 8}, {2, 4}));
  EXPECT_THROW(run("ConcatV2", {matrix(), Tensor::of<float>({7, 8}, {2, 1}), axis(0)}), InvalidArgumentError);
  const Tensor pair = Tensor::of<std::int32_t>({1, 2});
  EXPECT_EQ(run("Pack", {pair, pair}, {{"axis", std::int64_t{0}}}), Tensor::of<std::int32_t>({1, 2, 1, 2}, {2, 2}));
  EXPECT_EQ(run("Pack", {pair, pair}, {{"axis", std::int64_t{-1}}}), Tensor::of<std::int32_t>({1, 1, 2, 2}, {2, 2}));
  const std::vector<Tensor> offsets =
      test::run_op(kernels::movement(), "ConcatOffset", {axis(1), ints({2, 3}), ints({2, 1})}, {},
                   std::vector{DType::Int32, DType::Int32});
  EXPECT_EQ(offsets[0], ints({0, 0}));
  EXPECT_EQ(offsets[1], ints({0, 3}));
}

TEST(MovementKernels, Cut) {
  EXPECT_EQ(run("Slice", {matrix(), ints({0, 1}), ints({2, 2})}), Tensor::of<float>({2, 3, 5, 6}, {2, 2}));
  EXPECT_EQ(run("Slice", {matrix(), ints({1, 0}), ints({-1, -1})}), Tensor::of<float>({4, 5, 6}, {1, 3}));
  EXPECT_THROW(run("Slice", {matrix(), ints({1, 0}), ints({2, 1})}), InvalidArgumentError);
  EXPECT_THROW(run("Slice", {matrix(), ints({-1, 0}), ints({1, 1})}), InvalidArgumentError);
  const std::vector<Tensor> columns =
      test::run_op(kernels::movement(), "Unpack", {matrix()}, {{"axis", std::int64_t{1}}},
                   std::vector{DType::Float, DType::Float, DType::Float});
  EXPECT_EQ(columns[1], Tensor::of<float>({2, 5}));
}

TEST(MovementKernels, PadAndRepeat) {
  EXPECT_EQ(run("Pad", {matrix(), Tensor::of<std::int32_t>({1, 0, 0, 1}, {2, 2})}),
            Tensor::of<float>({0, 0, 0, 0, 1, 2, 3, 0, 4, 5, 6, 0}, {3, 4}));
  EXPECT_EQ(run("Tile", {Tensor::of<float>({1, 2}, {1, 2}), ints({2, 2})}),
            Tensor::of<float>({1, 2, 1, 2, 1, 2, 1, 2}, {2, 4}));
  EXPECT_EQ(run("Tile", {Tensor::of<float>({1, 2}), ints({0})}).shape(), (Shape{0}));
  EXPECT_EQ(run("BroadcastTo", {Tensor::of<float>({1, 2}, {2, 1}), ints({2, 2})}),
            Tensor::of<float>({1, 1, 2, 2}, {2, 2}));
  EXPECT_THROW(run("BroadcastTo", {matrix(), ints({3})}), InvalidArgumentError);
}

TEST(MovementKernels, ExtentsThatOverflowAreErrors) {
  constexpr std::int64_t kHuge = INT64_MAX / 2 + 1;
  const auto pair = [](std::int64_t a, std::int64_t b) { return Tensor::of<std::int64_t>({a, b}); };
  const Tensor wide = Tensor::of<std::int64_t>({kHuge, kHuge}, {1, 2});
  EXPECT_THROW(run("Pad", {Tensor::of<float>({1, 2, 3}), wide}), InvalidArgumentError);
  const Tensor none(DType::Float, Shape{0, kHuge});
  EXPECT_THROW(run("Tile", {none, pair(1, 3)}), InvalidArgumentError);
  EXPECT_THROW(run("ConcatV2", {none, none, axis(1)}), InvalidArgumentError);
  const auto offsets = [](const std::vector<Tensor>& shapes) {
    std::vector<Tensor> inputs{axis(0)};
    inputs.insert(inputs.end(), shapes.begin(), shapes.end());
    return test::run_op(kernels::movement(), "ConcatOffset", inputs, {},
                        std::vector<DType>(shapes.size(), DType::Int32));
  };
  const Tensor much = ints({INT32_MAX});
  EXPECT_EQ(offsets({much, much})[1], much);
  EXPECT_THROW(offsets({much, much, much}), InvalidArgumentError);
  EXPECT_THROW(offsets({ints({2, 3}), ints({2})}), InvalidArgumentError);
}

TEST(MovementKernels, PadStringsWithEmptyOnes) {
  EXPECT_EQ(run("Pad", {Tensor::of<std::string>({"a"}), Tensor::of<std::int32_t>({1, 1}, {1, 2})}),
            Tensor::of<std::string>({"", "a", ""}));
}

}  // namespace
}  // namespace trainhook
