// SPDX-License-Identifier: Apache-2.0
/// @file
/// How a definition completes and checks a node: defaults, dtypes that follow from inputs, and errors.
#include <trainhook/graph/op_def.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/ops/shape_rules.hpp>

#include "expect_error.hpp"

namespace trainhook {
namespace {

using testing::expect_error;

struct OpDefs : ::testing::Test {
  Operation add(const OpDef& def, std::vector<Output> inputs, Attrs attrs = {}, std::string name = "n") {
    NodeSpec spec{
        .type = std::string(def.type), .name = std::move(name), .inputs = std::move(inputs), .attrs = std::move(attrs)};
    detail::infer_attrs(spec, def);
    return graph.add(def, std::move(spec));
  }
  Output in(DType dtype, std::string_view name = "x") { return placeholder(graph, dtype, Shape{2}, name); }
  Graph graph;
};

TEST_F(OpDefs, DefaultsOfEachKind) {
  const OpDef def{.type = "Mine",
                  .signature = "->",
                  .attrs =
                      "b:bool=true i:int=-3 f:float=0.5 s:string=NHWC e:string= l:ints=[1,-2] t:type=int64 "
                      "p:shape=? q:shapes=[] c:tensor=[255,0]"};
  const Node& node = add(def, {}).node();
  EXPECT_TRUE(node.attr<bool>("b"));
  EXPECT_EQ(node.attr<std::int64_t>("i"), -3);
  EXPECT_EQ(node.attr<float>("f"), 0.5F);
  EXPECT_EQ(node.attr<std::string>("s"), "NHWC");
  EXPECT_EQ(node.attr<std::string>("e"), "");
  EXPECT_EQ(node.attr<std::vector<std::int64_t>>("l"), (std::vector<std::int64_t>{1, -2}));
  EXPECT_EQ(node.attr<DType>("t"), DType::Int64);
  EXPECT_FALSE(node.attr<PartialShape>("p").has_rank());
  EXPECT_TRUE(node.attr<std::vector<PartialShape>>("q").empty());
  EXPECT_EQ(node.attr<Tensor>("c"), Tensor::of<std::uint8_t>({255, 0}));
  EXPECT_EQ(add(def, {}, {{"i", std::int64_t{7}}}).node().attr<std::int64_t>("i"), 7);
}

TEST_F(OpDefs, DtypesAndCountsFollowFromTheInputs) {
  const OpDef def{.type = "Mine", .signature = "N*T U -> U N*T"};
  const Node& node = add(def, {in(DType::Float), in(DType::Float), in(DType::Int32)}).node();
  EXPECT_EQ(node.attr<std::int64_t>("N"), 2);
  EXPECT_EQ(node.attr<DType>("T"), DType::Float);
  EXPECT_EQ(node.attr<DType>("U"), DType::Int32);
  ASSERT_EQ(node.outputs().size(), 3U);
  EXPECT_EQ(node.outputs()[0].dtype, DType::Int32);
  EXPECT_FALSE(node.outputs()[0].shape.has_rank()) << "no rule says it";
}

TEST_F(OpDefs, NumbersListsAndStringsHaveLimits) {
  const OpDef def{.type = "Mine", .signature = "N*T -> T", .attrs = "N:int>1 sizes:ints>0 way:string{UP,DOWN}=UP"};
  const Output x = in(DType::Float);
  const std::vector<std::int64_t> sizes{7};
  add(def, {x, x}, {{"sizes", sizes}});
  add(def, {x, x}, {{"sizes", sizes}, {"way", std::string("DOWN")}});
  expect_error({"N is 1, but must be above 1"}, [&] { add(def, {x}, {{"sizes", sizes}}); });
  expect_error({"the length of sizes is 0, but must be above 0"}, [&] {
    add(def, {x, x}, {{"sizes", std::vector<std::int64_t>()}});
  });
  expect_error({"way is 'down', not one of UP,DOWN"}, [&] {
    add(def, {x, x}, {{"sizes", sizes}, {"way", std::string("down")}});
  });
}

TEST_F(OpDefs, ErrorsNameTheNodeAndTheInput) {
  const OpDef def{.type = "Mine",
                  .signature = "T T -> T",
                  .attrs = "T:{uint8,int32,floating} k:int",
                  .shape = detail::shape_rules::merged};
  const Output x = in(DType::Float);
  const Attrs k{{"k", std::int64_t{1}}};
  expect_error({"node 'n' (Mine)", "no attribute k"}, [&] { add(def, {x, x}); });
  expect_error({"node 'n' (Mine)", "no attribute k"}, [&] { add(def, {x, x}, {{"k", 1.0F}}); });
  expect_error({"node 'n' (Mine) has only 1 inputs"}, [&] { add(def, {x}, k); });
  expect_error({"node 'n' (Mine) has 3 inputs", "takes 2"}, [&] { add(def, {x, x, x}, k); });
  expect_error({"Mine: 'x:0' float32[2] and 'i:0' int32[2] differ in dtype"}, [&] {
    add(def, {x, in(DType::Int32, "i")}, k, "");
  });
  expect_error({"'s:0' string[2] must be of uint8, int32 or a floating dtype"}, [&] {
    const Output text = in(DType::String, "s");
    add(def, {text, text}, k);
  });
  expect_error({"an input is empty"}, [&] { add(def, {x, Output()}, k); });
  expect_error({"differ in shape"}, [&] { add(def, {x, placeholder(graph, DType::Float, Shape{3})}, k); });
}

TEST_F(OpDefs, ShapesThatAreGivenAddToWhatIsKnown) {
  const auto vector = [](const NodeSpec&, std::size_t) { return PartialShape{kUnknownDim}; };
  const OpDef def{.type = "Mine", .signature = "-> float32", .shape = vector};
  const auto with = [&](const PartialShape& shape) {
    return graph.add(def, {.name = "n", .outputs = {{DType::Invalid, shape}}}).output().shape();
  };
  EXPECT_EQ(with({5}), PartialShape({5}));
  EXPECT_EQ(with(PartialShape()), PartialShape({-1}));
  expect_error({"(Mine) gives [?], but [2,2] was expected"}, [&] { with({2, 2}); });
}

}  // namespace
}  // namespace trainhook
