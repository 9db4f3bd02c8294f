// SPDX-License-Identifier: Apache-2.0
/// @file
/// Resource variables become reference variables when they are imported.
#include <trainhook/compat/resource_variables.hpp>

#include <deque>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/compat/import_graph_def.hpp>
#include <trainhook/compat/ops.hpp>

namespace trainhook {
namespace {

/// A float variable of shape [3,2], and inputs for every use.
constexpr const char* kVariable = R"(
node { name: "w" op: "VarHandleOp" attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "shape" value { shape { dim { size: 3 }
dim { size: 2 } } } } attr { key: "container" value { s: "" } } attr { key: "shared_name" value { s: "w" } }
attr { key: "allowed_devices" value { list { } } } attr { key: "debug_name" value { s: "w" } }
attr { key: "_output_shapes" value { list { shape { } } } } }
node { name: "value" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "shape" value { shape { dim { size: 3 }
dim { size: 2 } } } } }
node { name: "row" op: "Const" attr { key: "dtype" value { type: DT_INT64 } } attr { key: "value" value { tensor { dtype: DT_INT64
tensor_shape { } int64_val: 1 } } } }
node { name: "rate" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "value" value { tensor { dtype: DT_FLOAT
tensor_shape { } float_val: 1 } } } }
)";

struct ResourceVariables : ::testing::Test {
  /// Imports the variable and a node of op type `op`, and gives the node back.
  Operation import(const std::string& op, const std::string& fields) {
    const std::string text =
        fmt::format("{}node {{ name: \"tested\" op: \"{}\" input: \"w\" {} }}", kVariable, op, fields);
    const std::vector<Operation> all =
        import_graph_def(graphs.emplace_back(), parse_graph_def_text(text), {.name = ""});
    EXPECT_EQ(all.size(), 5U);
    return all.at(4);
  }

  std::deque<Graph> graphs{};  // each import has its own
};

constexpr const char* kDtype = " attr { key: \"dtype\" value { type: DT_FLOAT } }";
constexpr const char* kT = " attr { key: \"T\" value { type: DT_FLOAT } }";
constexpr const char* kIndices = " attr { key: \"Tindices\" value { type: DT_INT64 } }";

TEST_F(ResourceVariables, AHandleIsAVariable) {
  const Operation read = import("ReadVariableOp", kDtype);
  EXPECT_EQ(read.type(), "Identity");
  EXPECT_EQ(read.output().dtype(), DType::Float);
  EXPECT_EQ(read.output().shape(), PartialShape({3, 2}));
  EXPECT_EQ(read.node().attr<DType>("T"), DType::Float);
  EXPECT_FALSE(read.node().attrs().contains("dtype"));
  const Node& variable = graphs.back().operation("w").node();
  EXPECT_EQ(variable.type(), "VariableV2");
  EXPECT_EQ(variable.outputs()[0].shape, PartialShape({3, 2}));
  EXPECT_FALSE(variable.attrs().contains("debug_name"));
  EXPECT_FALSE(variable.attrs().contains("allowed_devices"));
}

TEST_F(ResourceVariables, AssigningChecksTheShape) {
  const Operation assign = import("AssignVariableOp", std::string("input: \"value\" input: \"^row\"") + kDtype +
                                                          " attr { key: \"validate_shape\" value { b: false } }");
  EXPECT_EQ(assign.type(), "Assign");
  EXPECT_TRUE(assign.node().attr<bool>("validate_shape"));
  EXPECT_EQ(assign.node().control_inputs().size(), 1U);
}

TEST_F(ResourceVariables, OpsTakeTheDtypeThatOnlyTheVariableHas) {
  EXPECT_EQ(import("VarIsInitializedOp", "").node().attr<DType>("dtype"), DType::Float);
  const Operation shape = import("VariableShape", "");
  EXPECT_EQ(shape.type(), "Shape");
  EXPECT_EQ(shape.node().attr<DType>("T"), DType::Float);
  EXPECT_EQ(shape.node().attr<DType>("out_type"), DType::Int32);
}

TEST_F(ResourceVariables, GatheringNamesItsAxis) {
  const Operation gather =
      import("ResourceGather", std::string("input: \"row\" input: \"^value\"") + kDtype + kIndices +
                                   " attr { key: \"validate_indices\" value { b: true } }");
  EXPECT_EQ(gather.type(), "GatherV2");
  EXPECT_EQ(gather.output().shape(), PartialShape({2}));
  EXPECT_EQ(gather.node().inputs()[2].name(), "tested/axis:0");
  EXPECT_EQ(gather.node().control_inputs().size(), 1U);
}

TEST_F(ResourceVariables, EveryReplacementIsKnownHere) {
  for (const detail::ResourceOp& op : detail::kResourceOps) EXPECT_NE(find_op_def(op.reference), nullptr) << op.type;
  EXPECT_EQ(import("ResourceScatterAdd", std::string("input: \"row\" input: \"rate\"") + kDtype + kIndices).type(),
            "ScatterAdd");
  const Operation apply = import("ResourceApplyGradientDescent", std::string("input: \"rate\" input: \"value\"") + kT);
  EXPECT_EQ(apply.type(), "ApplyGradientDescent");
}

TEST_F(ResourceVariables, StayWhereTheProgramDefinesThem) {
  const OpDef own[] = {{"VarHandleOp", "-> dtype"}, {"ReadVariableOp", "dtype -> dtype"}};
  const std::string text =
      fmt::format("{}node {{ name: \"read\" op: \"ReadVariableOp\" input: \"w\"{} }}", kVariable, kDtype);
  import_graph_def(graphs.emplace_back(), parse_graph_def_text(text), {.name = "", .op_defs = own});
  EXPECT_EQ(graphs.back().operation("w").type(), "VarHandleOp");
}

}  // namespace
}  // namespace trainhook
