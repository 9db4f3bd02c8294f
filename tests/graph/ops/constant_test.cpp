// SPDX-License-Identifier: Apache-2.0
/// @file
/// Constants and placeholders.
#include <trainhook/graph/ops/constant.hpp>

#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "expect_error.hpp"

namespace trainhook {
namespace {

using testing::expect_error;

TEST(ConstantOps, ConstantHoldsItsValueDtypeAndShape) {
  Graph graph;
  const Output x = constant(graph, Tensor::of<float>({1, 2, 3}));
  EXPECT_EQ(x.name(), "Const:0");
  EXPECT_EQ(x.dtype(), DType::Float);
  EXPECT_EQ(x.shape(), PartialShape({3}));
  EXPECT_EQ(x.node().attr<Tensor>("value"), Tensor::of<float>({1, 2, 3}));
  EXPECT_EQ(x.node().attr<DType>("dtype"), DType::Float);
  expect_error({"holds no value"}, [&] { constant(graph, Tensor()); });
}

TEST(ConstantOps, PlaceholderKeepsWhatIsKnownOfItsShape) {
  Graph graph;
  EXPECT_FALSE(placeholder(graph, DType::Int32).shape().has_rank());
  const Output x = placeholder(graph, DType::Float, {-1, 4}, "x");
  EXPECT_EQ(x.shape(), PartialShape({-1, 4}));
  EXPECT_EQ(x.node().attr<PartialShape>("shape"), PartialShape({-1, 4}));
  expect_error({"needs a dtype"}, [&] { placeholder(graph, DType::Invalid); });
}

TEST(ConstantOps, DefaultOfAPlaceholderHasToFitItsShape) {
  Graph graph;
  const Output value = zeros(graph, {2, 3});
  EXPECT_EQ(placeholder_with_default(value, {-1, 3}).shape(), PartialShape({-1, 3}));
  expect_error({"'zeros:0' float32[2,3]", "[?,4]"}, [&] { placeholder_with_default(value, {-1, 4}); });
}

TEST(ConstantOps, FillsTensorsOfEveryNumericDtype) {
  for (const DType dtype :
       {DType::Float, DType::Double, DType::Int8, DType::Int16, DType::Int32, DType::Int64, DType::UInt8, DType::UInt16,
        DType::UInt32, DType::UInt64, DType::Bool, DType::Complex64, DType::Complex128}) {
    Graph graph;
    const Output x = ones(graph, {2}, dtype);
    EXPECT_EQ(x.dtype(), dtype);
    EXPECT_FALSE(x.node().attr<Tensor>("value") == Tensor(dtype, {2})) << dtype_name(dtype);
  }
  EXPECT_EQ(detail::filled_tensor(DType::Half, {2}, 0), Tensor(DType::Half, {2}));
  expect_error<UnimplementedError>({"float16"}, [] { static_cast<void>(detail::filled_tensor(DType::Half, {2}, 1)); });
}

TEST(ConstantOps, RefusesIntegersThatDoNotFitIndexTensors) {
  Graph graph;
  expect_error({"shape", "4294967296"}, [&] { detail::constant_ints(graph, {std::int64_t{1} << 32}, "shape"); });
}

TEST(ConstantOps, EmptyHandlesAreErrorsNotCrashes) {
  expect_error({"ZerosLike", "empty"}, [] { zeros_like(Output()); });
}

}  // namespace
}  // namespace trainhook
