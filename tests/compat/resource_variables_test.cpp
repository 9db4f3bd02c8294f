// SPDX-License-Identifier: Apache-2.0
/// @file
/// Resource variables become reference variables when they are imported.
#include <trainhook/compat/graph_def_rewrites.hpp>

#include <deque>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/compat/import_graph_def.hpp>
#include <trainhook/compat/kernels.hpp>
#include <trainhook/compat/ops.hpp>
#include <trainhook/engine/eigen_session.hpp>
#include <trainhook/graph/ops/state.hpp>

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

/// A read in a branch of `tf.cond`; the handle passes through nodes that the file has before the variable.
TEST_F(ResourceVariables, AHandleThatBranchesPassOnIsAReference) {
  const std::string handle = " attr { key: \"T\" value { type: DT_RESOURCE } }";
  const std::string text = fmt::format(
      R"(node {{ name: "read" op: "ReadVariableOp" input: "way:1" {0} }}
         node {{ name: "is_initialized" op: "VarIsInitializedOp" input: "same" }}
         node {{ name: "way" op: "Switch" input: "same" input: "p" {1} }}
         node {{ name: "same" op: "Identity" input: "w" {1} }}
         node {{ name: "change" op: "AssignAddVariableOp" input: "way:1" input: "value" {0} }}
         node {{ name: "p" op: "Placeholder" attr {{ key: "dtype" value {{ type: DT_BOOL }} }} }})",
      kDtype, handle);
  Graph& graph = graphs.emplace_back();
  import_graph_def(graph, parse_graph_def_text(kVariable + text), {.name = ""});
  EXPECT_EQ(graph.operation("way").type(), "RefSwitch");
  EXPECT_EQ(graph.operation("same").type(), "RefIdentity");
  EXPECT_EQ(graph.output("way:1").shape(), PartialShape({3, 2}));
  EXPECT_EQ(graph.operation("is_initialized").node().attr<DType>("dtype"), DType::Float);

  EigenSession session(graph, {.kernels = compat::kernels()});
  const Output value = graph.output("value");
  const Output p = graph.output("p");
  const Tensor ones = Tensor::of<float>({1, 1, 1, 1, 1, 1}, {3, 2});
  const Output variable = graph.output("w");
  session.run(assign(Variable{.handle = variable.operation()}, value), {{value, ones}});
  session.run(graph.operation("change"), {{value, ones}, {p, Tensor(false)}});
  EXPECT_EQ(session.run(graph.output("read"), {{p, Tensor(true)}}), ones);
  session.run(graph.operation("change"), {{value, ones}, {p, Tensor(true)}});
  EXPECT_EQ(session.run(graph.output("read"), {{p, Tensor(true)}}).data<float>()[0], 2.0F);
  EXPECT_THROW(session.run(graph.output("read"), {{p, Tensor(false)}}), InvalidArgumentError);
}

TEST_F(ResourceVariables, HandlesThatArePassedInACircleAreNone) {
  const std::string handle = " attr { key: \"T\" value { type: DT_RESOURCE } }";
  EXPECT_THROW(import("ReadVariableOp", R"(} node { name: "a" op: "Identity" input: "b" )" + handle +
                                            R"(} node { name: "b" op: "Identity" input: "a" )" + handle),
               InvalidArgumentError);
}

TEST_F(ResourceVariables, EveryReplacementIsKnownHere) {
  for (const detail::ResourceOp& op : detail::kResourceOps)
    EXPECT_NE(find_op_def(detail::served_version(op.reference)), nullptr) << op.type;
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
