// SPDX-License-Identifier: Apache-2.0
/// @file
/// Broadcasting, dtypes and operators of elementwise ops.
#include <trainhook/model/ops/math.hpp>

#include <cstddef>

#include <gtest/gtest.h>

#include <trainhook/graph/ops/cast.hpp>
#include <trainhook/graph/ops/constant.hpp>

#include "expect_error.hpp"

namespace trainhook {
namespace {

using testing::expect_error;

struct MathOps : ::testing::Test {
  Output in(const PartialShape& shape, DType dtype = DType::Float) { return placeholder(graph, dtype, shape, "x"); }
  Graph graph;
};

TEST_F(MathOps, BroadcastsByNumPysRules) {
  EXPECT_EQ((in({2, 1}) + in({3})).shape(), PartialShape({2, 3}));
  EXPECT_EQ((in({-1, 3}) + in({3})).shape(), PartialShape({-1, 3}));
  EXPECT_EQ((in({-1, 3}) + in({4, 1})).shape(), PartialShape({4, 3})) << "what is unknown must turn out 1 or 4";
  EXPECT_EQ((in({-1}) + in({1})).shape(), PartialShape({-1}));
  EXPECT_FALSE((in(PartialShape()) + in({3})).shape().has_rank());
  expect_error({"AddV2", "float32[2]", "float32[3]"}, [&] { in({2}) + in({3}); });
}

TEST_F(MathOps, OperatorsTakeNumbersInTheDtypeOfTheOutput) {
  const Output x = in({2}, DType::Double);
  const Output y = 1 - x * 2.5F;
  EXPECT_EQ(y.dtype(), DType::Double);
  EXPECT_EQ(y.node().type(), "Sub");
  EXPECT_EQ(y.node().inputs()[0].node().attr<Tensor>("value"), Tensor(1.0));
  EXPECT_EQ((-x).node().type(), "Neg");
  EXPECT_EQ((x / 2).node().type(), "RealDiv");
  const std::size_t before = graph.size();
  2 / x;
  EXPECT_EQ(graph.size(), before + 2) << "the op and one constant";
}

TEST_F(MathOps, RefusesMixedAndUnfitDtypes) {
  expect_error({"float32", "float64", "differ in dtype"}, [&] { in({2}) * in({2}, DType::Double); });
  expect_error({"floordiv"}, [&] { in({2}, DType::Int32) / in({2}, DType::Int32); });
  expect_error({"Exp", "int32", "cast()"}, [&] { exp(in({2}, DType::Int32)); });
  expect_error({"AddV2", "bool"}, [&] { in({2}, DType::Bool) + in({2}, DType::Bool); });
  expect_error({"LogicalAnd", "bool"}, [&] { logical_and(in({2}), in({2})); });
}

TEST_F(MathOps, ComparisonsGiveBools) {
  EXPECT_EQ(less(in({2, 1}), in({3})).dtype(), DType::Bool);
  EXPECT_EQ(less(in({2, 1}), in({3})).shape(), PartialShape({2, 3}));
  EXPECT_TRUE(equal(in({2}), in({2})).node().attr<bool>("incompatible_shape_error"));
  EXPECT_FALSE(less(in({2}), in({2})).node().has_attr("incompatible_shape_error"));
  EXPECT_EQ(equal(in({2}, DType::String), in({2}, DType::String)).dtype(), DType::Bool);
  expect_error({"order"}, [&] { less(in({2}, DType::Bool), in({2}, DType::Bool)); });
}

TEST_F(MathOps, AddNMergesShapesAndPassesASingleInputOn) {
  const Output x = in({-1, 3});
  EXPECT_EQ(add_n({x}), x);
  EXPECT_EQ(add_n({x, in({4, 3}), x}).shape(), PartialShape({4, 3}));
  EXPECT_EQ(add_n({x, x}).node().attr<std::int64_t>("N"), 2);
  expect_error({"differ in shape"}, [&] { add_n({in({2}), in({3})}); });
}

TEST_F(MathOps, ClipByValueBearsTheNameOfItsScope) {
  const Output y = clip_by_value(in({3}), constant(graph, Tensor(0.0F)), constant(graph, Tensor(1.0F)));
  EXPECT_EQ(y.name(), "clip_by_value:0");
  EXPECT_EQ(y.node().inputs()[0].name(), "clip_by_value/Minimum:0");
}

TEST_F(MathOps, NamesAreTensorFlowsOpTypesUnlessGiven) {
  const Output x = in({2});
  EXPECT_EQ(add(x, x).name(), "AddV2:0");
  EXPECT_EQ(add(x, x, "sum").name(), "sum:0");
}

}  // namespace
}  // namespace trainhook
