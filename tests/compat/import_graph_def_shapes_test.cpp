// SPDX-License-Identifier: Apache-2.0
/// @file
/// A node has the same static shape, or is the same error, no matter whether a builder or an import adds it.
#include <trainhook/compat/import_graph_def.hpp>

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/compat/ops.hpp>
#include <trainhook/testing/log_lines.hpp>

#include "shape_cases.hpp"

namespace trainhook {
namespace {

using shape_cases::any;
using shape_cases::In;
using shape_cases::in;
using shape_cases::ints;
using shape_cases::number;
using shape_cases::Result;
using shape_cases::ShapeCase;

using Dims = std::vector<std::int64_t>;
using Dim = std::int64_t;

In variable(In shape) {
  shape.type = "VariableV2";
  return shape;
}

Result imported(const ShapeCase& of) {
  return shape_cases::result_of([&](Graph& graph) { return shape_cases::import(graph, of); });
}
Result built(const ShapeCase& of) {
  return shape_cases::result_of([&](Graph& graph) { return shape_cases::build(graph, of); });
}

TEST(ImportGraphDefShapes, ImportRefusesToSqueezeADimensionThatIsNotOne) {
  const ShapeCase of{"Squeeze", {in({3, 4})}, {{"squeeze_dims", std::vector<std::int64_t>{0}}}};
  EXPECT_EQ(imported(of).error, "case.pb: node 'node' (Squeeze): dimension 0 of 'in0:0' float32[3,4] is not 1");
}

TEST(ImportGraphDefShapes, ImportRefusesToPackTensorsOfDifferentShapes) {
  EXPECT_EQ(imported({"Pack", {in({3, 4}), in({3, 5})}}).error,
            "case.pb: node 'node' (Pack): 'in0:0' float32[3,4] and 'in1:0' float32[3,5] differ in shape");
}

// Each of these was taken once, though TensorFlow refuses it.
TEST(ImportGraphDefShapes, ImportRefusesWhatTensorFlowRefuses) {
  const std::string same = "SAME";
  const std::string nchw = "NCHW";
  const Dims one{1, 1, 1, 1};
  const In x = in({1, 3, 3, 2});
  const In index = in(Dims{}, DType::Int32);
  const In words = in({2}, DType::String);
  const In iterator{"IteratorV2",
                    {{"output_types", std::vector<DType>{DType::Float}},
                     {"output_shapes", std::vector<PartialShape>{PartialShape{2}}},
                     {"container", std::string()},
                     {"shared_name", std::string()}}};
  for (const ShapeCase& of : std::initializer_list<ShapeCase>{
           {"AvgPool", {x}, {{"ksize", one}, {"strides", one}, {"padding", std::string("none")}}},
           {"AvgPoolGrad", {ints({1, 0}), x}, {{"ksize", one}, {"strides", one}, {"padding", same}}},
           {"BiasAdd", {in({3, 4}), in({4})}, {{"data_format", nchw}}},
           {"BiasAddGrad", {in({3, 4})}, {{"data_format", nchw}}},
           {"BroadcastGradientArgs", {number(0), number(0)}},
           {"ComputeAccidentalHits", {in({2, 2}, DType::Int64), in({2}, DType::Int64)}, {{"num_true", Dim{-1}}}},
           {"ConcatV2", {x, number(0)}},
           {"Conv2DBackpropFilter", {x, ints({1, 0}), x}, {{"strides", one}, {"padding", same}}},
           {"Conv2DBackpropInput", {in({4}, DType::Int32), in({3, 4}), x}, {{"strides", one}, {"padding", same}}},
           {"Conv2DBackpropInput", {ints({2, 3, 3, 2}), x, x}, {{"strides", one}, {"padding", same}}},
           {"DynamicStitch", {in({3}, DType::Int32), number(0), in({3, 4}), in({3, 4})}, {{"N", Dim{2}}}},
           {"ExpandDims", {x, ints({1, 0})}},
           {"FusedBatchNormV3", {x, in({2}), in({2}), in({3}), in({2})}, {{"exponential_avg_factor", 0.5F}}},
           {"GatherV2", {in(Dims{}), in(Dims{}, DType::Int32), index}},
           {"GatherV2", {in({3, 4}), number(0), number(0)}, {{"batch_dims", Dim{2}}}},
           {"IteratorGetNext",
            {iterator},
            {{"output_types", std::vector<DType>{DType::Float}},
             {"output_shapes", std::vector<PartialShape>{PartialShape{2}, PartialShape{2}}}}},
           {"MaxPool", {x}, {{"ksize", one}, {"strides", one}, {"padding", std::string("EXPLICIT")}}},
           {"MaxPoolGrad", {in({3, 4}), x, x}, {{"ksize", one}, {"strides", one}, {"padding", same}}},
           {"Reshape", {in({-1, 4}), ints({3})}},
           {"RestoreV2", {in({2}, DType::String), words, words}, {{"dtypes", std::vector<DType>{DType::Float}}}},
           {"ScatterNd", {any(DType::Int32), in({4}), ints({1, 0})}},
           {"SpaceToBatchND", {any(), ints({1, 0}), any(DType::Int32)}},
           {"SplitV", {x, ints({1, 1, 1}), index}, {{"num_split", Dim{2}}}},
           {"StridedSlice", {x, ints({1, 0}), ints({1, 0}), in({3}, DType::Int32)}},
           {"Sum", {any(), ints({1, 1, 1, 1}, {2, 2})}},
           {"Transpose", {in({4}), in({3}, DType::Int32)}},
           {"Unpack", {in({2})}, {{"num", Dim{0}}}},
           {"UnsortedSegmentSum", {x, index, number(-1)}}})
    EXPECT_NE(imported(of).error, "") << of.op << " has the shapes " << imported(of).shapes;
}

TEST(ImportGraphDefShapes, ImportRefusesDtypesThatTensorFlowRefuses) {
  for (const auto& [op, dtype] : std::initializer_list<std::pair<std::string, DType>>{
           {"Abs", DType::Complex64}, {"Neg", DType::UInt8}, {"Sign", DType::UInt32}})
    EXPECT_NE(imported({op, {in({2}, dtype)}}).error, "") << op;
  for (const auto& [op, dtype] :
       std::initializer_list<std::pair<std::string, DType>>{{"Add", DType::UInt64},
                                                            {"FloorMod", DType::Complex64},
                                                            {"Maximum", DType::Complex64},
                                                            {"Minimum", DType::Complex64},
                                                            {"Pow", DType::UInt8},
                                                            {"SquaredDifference", DType::Int8}})
    EXPECT_NE(imported({op, {in({2}, dtype), in({2}, dtype)}}).error, "") << op;
  for (const auto& [op, dtype] : std::initializer_list<std::pair<std::string, DType>>{
           {"ArgMax", DType::Complex64}, {"Max", DType::Complex64}, {"Min", DType::Complex64}})
    EXPECT_NE(imported({op, {in({2}, dtype), number(0)}}).error, "") << op;
  EXPECT_NE(imported({"MatMul", {in({2, 2}, DType::Int8), in({2, 2}, DType::Int8)}}).error, "");
}

// Each of these was less definite once than in TensorFlow.
TEST(ImportGraphDefShapes, ImportKnowsTheShapesThatTensorFlowKnows) {
  const std::string same = "SAME";
  const Dims one{1, 1, 1, 1};
  const Attrs conv{{"strides", one}, {"padding", same}};
  const In sizes = any(DType::Int32);
  const In axis = in(Dims{}, DType::Int32);
  const In unknown = variable(any());
  const In known = variable(in({3, 4}));
  const In number_variable = variable(in(Dims{}));
  for (const auto& [of, shapes] : std::initializer_list<std::pair<ShapeCase, std::string>>{
           {{"ApplyGradientDescent", {unknown, number_variable, known}}, "[3,4]"},
           {{"ArgMax", {in(Dims{}), axis}}, "[]"},
           {{"Assign", {unknown, known}}, "[3,4]"},
           {{"BroadcastTo", {in({2}), in({3}, DType::Int32)}}, "[?,?,2]"},
           {{"Conv2D",
             {in({1, 2, 5, 5}), in({3, 3, 2, 7})},
             {{"strides", one}, {"padding", same}, {"data_format", std::string("NCHW")}}},
            "[1,7,5,5]"},
           {{"Conv2DBackpropFilter", {any(), sizes, any()}, conv}, "[?,?,?,?]"},
           {{"Conv2DBackpropInput", {sizes, any(), in({2, 3, 3, 2})}, conv}, "[2,?,?,?]"},
           {{"DynamicStitch", {number(0), ints({1, 2}), in({4}), in({2, 4})}, {{"N", Dim{2}}}}, "[3,4]"},
           {{"Equal", {in({3}), in({3})}, {{"incompatible_shape_error", false}}}, "[3]"},
           {{"GatherV2", {in({3, 4}), in({5}, DType::Int32), axis}}, "[?,?]"},
           {{"InvertPermutation", {sizes}}, "[?]"},
           {{"Select", {in({3, 4}, DType::Bool), in({-1, 4}), in({-1, 4})}}, "[3,4]"},
           {{"SparseApplyMomentum", {unknown, known, number_variable, known, in({-1}, DType::Int32), number_variable}},
            "[3,4]"},
           {{"Transpose", {any(), in({3}, DType::Int32)}}, "[?,?,?]"}})
    EXPECT_EQ(imported(of).shapes, shapes) << of.op << ": " << imported(of).error;
}

TEST(ImportGraphDefShapes, AreTheSameForBuilderAndImport) {
  const testing::LogLines log;  // many queues have no queue runner
  std::map<std::string, int> fit;
  std::size_t refused = 0;
  for (const ShapeCase& of : shape_cases::all_shape_cases()) {
    const Result by_builder = built(of);
    const Result by_import = imported(of);
    std::string inputs;
    for (const shape_cases::In& input : of.inputs) inputs += input.type + " ";
    EXPECT_EQ(by_builder.error.empty(), by_import.error.empty())
        << of.op << " of " << inputs << "\nbuilt: " << by_builder.shapes << by_builder.error
        << "\nimported: " << by_import.shapes << by_import.error;
    EXPECT_EQ(by_builder.shapes, by_import.shapes) << of.op;
    fit[of.op] += by_builder.error.empty() ? 1 : 0;
    if (!by_builder.error.empty()) ++refused;
  }
  for (const char* ours : {"TrainhookAllReduce", "TrainhookAllReduceFinish", "TrainhookAllReduceStart"})
    fit[ours] = 1;  // the interop tests give all cases to TensorFlow, which has no such ops
  for (const detail::OpFamily family : compat::ops()) {
    for (const OpDef* def : family) EXPECT_GT(fit[std::string(def->type)], 0) << def->type << " has no case that fits";
  }
  EXPECT_GT(refused, 300U);
}

TEST(ImportGraphDefShapes, AGeneratedCaseOfEachOpFits) {
  const testing::LogLines log;  // many queues have no queue runner
  std::map<std::string, int> fit;
  for (const ShapeCase& of : shape_cases::generated_shape_cases()) fit[of.op] += imported(of).error.empty() ? 1 : 0;
  for (const detail::OpFamily family : compat::ops()) {
    for (const OpDef* def : family) {
      if (def->type.starts_with("TrainhookAllReduce")) continue;  // TensorFlow has no such ops
      EXPECT_GT(fit[std::string(def->type)], 0) << def->type;
    }
  }
}

TEST(ImportGraphDefShapes, ImportAddsTheAttributesThatTheBuilderWrites) {
  const testing::LogLines log;  // many queues have no queue runner
  for (const ShapeCase& of : shape_cases::all_shape_cases()) {
    Graph graph;
    Graph again;
    try {
      const Node& node = shape_cases::build(graph, of).node();
      EXPECT_EQ(node.type(), of.op);
      EXPECT_EQ(shape_cases::import(again, of).node().attrs(), node.attrs()) << of.op;
    } catch (const InvalidArgumentError&) {  // an input does not fit
    }
  }
}

}  // namespace
}  // namespace trainhook
