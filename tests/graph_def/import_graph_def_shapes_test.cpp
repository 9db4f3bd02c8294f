// SPDX-License-Identifier: Apache-2.0
/// @file
/// A node has the same static shape, or is the same error, no matter whether a builder or an import adds it.
#include <trainhook/graph_def/import_graph_def.hpp>

#include <map>
#include <string>

#include <gtest/gtest.h>

#include <trainhook/graph/ops/registry.hpp>

#include "shape_cases.hpp"

namespace trainhook {
namespace {

using shape_cases::in;
using shape_cases::Result;
using shape_cases::ShapeCase;

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

TEST(ImportGraphDefShapes, AreTheSameForBuilderAndImport) {
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
  for (const detail::OpFamily family : detail::op_families()) {
    for (const OpDef* def : family) EXPECT_GT(fit[std::string(def->type)], 0) << def->type << " has no case that fits";
  }
  EXPECT_GT(refused, 300U);
}

TEST(ImportGraphDefShapes, ImportAddsTheAttributesThatTheBuilderWrites) {
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
