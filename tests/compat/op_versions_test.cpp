// SPDX-License-Identifier: Apache-2.0
/// @file
/// Nodes of other versions of an op type become nodes of the version that runs here.
#include <trainhook/compat/graph_def_rewrites.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <trainhook/compat/import_graph_def.hpp>
#include <trainhook/compat/kernels.hpp>
#include <trainhook/compat/ops.hpp>
#include <trainhook/engine/eigen_session.hpp>

namespace trainhook {
namespace {

using ::testing::ElementsAre;

struct OpVersions : ::testing::Test {
  Graph graph;

  /// Imports the nodes, after constants that they can read.
  void import(const std::string& nodes, const ImportGraphDefOptions& options = {.name = ""}) {
    constexpr std::string_view kConstants = R"(
      node { name: "table" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "value" value { tensor {
        dtype: DT_FLOAT tensor_shape { dim { size: 2 } dim { size: 3 } } float_val: [ 1, 2, 3, 4, 5, 6 ] } } } }
      node { name: "numbers" op: "Const" attr { key: "dtype" value { type: DT_INT32 } } attr { key: "value" value { tensor {
        dtype: DT_INT32 tensor_shape { dim { size: 2 } } int_val: [ 1, 0 ] } } } }
      node { name: "minus7" op: "Const" attr { key: "dtype" value { type: DT_INT32 } } attr { key: "value" value { tensor {
        dtype: DT_INT32 tensor_shape { } int_val: -7 } } } }
      node { name: "two" op: "Const" attr { key: "dtype" value { type: DT_INT32 } } attr { key: "value" value { tensor {
        dtype: DT_INT32 tensor_shape { } int_val: 2 } } } }
      node { name: "one" op: "Const" attr { key: "dtype" value { type: DT_INT32 } } attr { key: "value" value { tensor {
        dtype: DT_INT32 tensor_shape { } int_val: 1 } } } } )";
    import_graph_def(graph, parse_graph_def_text(std::string(kConstants) + nodes, "old.pbtxt"), options);
  }

  Tensor run(const std::string& output) {
    return EigenSession(graph, {.kernels = compat::kernels()}).run(graph.output(output));
  }
};

std::string type_attr(const std::string& key, const std::string& dtype) {
  return fmt::format(" attr {{ key: \"{}\" value {{ type: {} }} }}", key, dtype);
}

const std::string kGather = R"(node { name: "rows" op: "Gather" input: "table" input: "numbers" input: "^two")" +
                            type_attr("Tparams", "DT_FLOAT") + type_attr("Tindices", "DT_INT32") +
                            R"(attr { key: "validate_indices" value { b: true } } })";

TEST_F(OpVersions, EachRunsAsAnOpTypeThatIsKnownHere) {
  for (const char* type : {"BatchMatMul", "BiasAddV1", "Concat", "Div", "FIFOQueue", "FusedBatchNorm", "Gather", "Mod",
                           "QueueSize", "Variable"}) {
    EXPECT_NE(detail::served_version(type), type);
    EXPECT_NE(find_op_def(detail::served_version(type)), nullptr) << type;
    EXPECT_EQ(find_op_def(type), nullptr) << type;
  }
  EXPECT_EQ(detail::served_version("MatMul"), "MatMul");
}

TEST_F(OpVersions, WithAnAttributeThatBecameAnInputReadAConstant) {
  import(kGather);
  const Node& rows = graph.operation("rows").node();
  EXPECT_EQ(rows.type(), "GatherV2");
  EXPECT_EQ(rows.inputs()[2].name(), "rows/axis:0");
  EXPECT_EQ(rows.control_inputs().size(), 1U);
  EXPECT_EQ(run("rows"), Tensor::of<float>({4, 5, 6, 1, 2, 3}, {2, 3}));
}

TEST_F(OpVersions, LeaveTheNamesOfOtherNodesAlone) {
  import(kGather + R"(node { name: "rows/axis" op: "NoOp" })");
  EXPECT_EQ(graph.operation("rows/axis").type(), "NoOp");
  EXPECT_EQ(graph.operation("rows").node().inputs()[2].name(), "rows/axis_:0");
}

TEST_F(OpVersions, OfConcatTakeTheirAxisFirst) {
  import(R"(node { name: "wide" op: "Concat" input: "one" input: "table" input: "table" input: "^two"
                   attr { key: "N" value { i: 2 } })" +
         type_attr("T", "DT_FLOAT") + "}");
  EXPECT_EQ(graph.operation("wide").type(), "ConcatV2");
  EXPECT_EQ(run("wide"), Tensor::of<float>({1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6}, {2, 6}));
}

TEST_F(OpVersions, OfDivisionRoundTowardsZeroIfTheyAreOfIntegers) {
  import(R"(node { name: "quotient" op: "Div" input: "minus7" input: "two")" + type_attr("T", "DT_INT32") +
         R"(} node { name: "rest" op: "Mod" input: "minus7" input: "two")" + type_attr("T", "DT_INT32") +
         R"(} node { name: "ones" op: "Div" input: "table" input: "table")" + type_attr("T", "DT_FLOAT") + "}");
  EXPECT_EQ(run("quotient"), Tensor(std::int32_t{-3}));
  EXPECT_EQ(run("rest"), Tensor(std::int32_t{-1}));
  EXPECT_EQ(graph.operation("ones").type(), "RealDiv");
}

TEST_F(OpVersions, OfABatchNormalizationMayLeaveOutTheScale) {
  for (const bool scales : {true, false}) {
    Graph other;
    const auto vector = [](const std::string& name, float value) {
      return fmt::format(
          "node {{ name: \"{}\" op: \"Const\" {} attr {{ key: \"value\" value {{ tensor {{ dtype: DT_FLOAT "
          "tensor_shape {{ dim {{ size: 1 }} }} float_val: {} }} }} }} }} ",
          name, type_attr("dtype", "DT_FLOAT"), value);
    };
    import_graph_def(
        other,
        parse_graph_def_text(
            "node { name: \"x\" op: \"Placeholder\"" + type_attr("dtype", "DT_FLOAT") + "} " + vector("mean", 1) +
            vector("variance", 3) + vector("beta", 10) + vector("gamma", 5) +
            R"(node { name: "y" op: "BatchNormWithGlobalNormalization" input: "x" input: "mean" input: "variance"
                      input: "beta" input: "gamma" input: "^x" attr { key: "variance_epsilon" value { f: 1 } }
                      attr { key: "scale_after_normalization" value { b: )" +
            (scales ? "true" : "false") + " } }" + type_attr("T", "DT_FLOAT") + "}"),
        {.name = ""});
    const Tensor x = Tensor::of<float>({1, 3}, {1, 1, 2, 1});
    EXPECT_EQ(EigenSession(other, {.kernels = compat::kernels()}).run(other.output("y:0"), {{other.output("x"), x}}),
              Tensor::of<float>({10, scales ? 15.0F : 11.0F}, {1, 1, 2, 1}));
  }
}

TEST_F(OpVersions, OfTheGradientOfBatchNormalizationMaySayOtherShapesOfWhatNothingFills) {
  std::string shapes;
  for (int i = 0; i < 5; ++i) shapes += i == 0 ? "shape { unknown_rank: true } " : "shape { dim { size: 3 } } ";
  import(R"(node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
            node { name: "by" op: "FusedBatchNormGrad" input: "x" input: "x" input: "x" input: "x" input: "x")" +
         type_attr("T", "DT_FLOAT") + "attr { key: \"_output_shapes\" value { list { " + shapes + "} } } }");
  EXPECT_EQ(graph.output("by:0").node().type(), "FusedBatchNormGradV3");
}

TEST_F(OpVersions, OfAPoolHaveWindowsAsInputsThatAreConstants) {
  const auto vector = [](const std::string& name, const std::string& numbers) {
    return "node { name: \"" + name + "\" op: \"Const\"" + type_attr("dtype", "DT_INT32") +
           " attr { key: \"value\" value { tensor { dtype: DT_INT32 tensor_shape { dim { size: 4 } } int_val: [ " +
           numbers + " ] } } } } ";
  };
  const auto pool = [](const std::string& type, const std::string& name, const std::string& inputs,
                       const std::string& ksize) {
    std::string node = "node { name: \"" + name + "\" op: \"" + type + "\" ";
    for (const std::string& input : {inputs, ksize, std::string("steps"), std::string("^one")})
      node += "input: \"" + input + "\" ";
    return node + "attr { key: \"padding\" value { s: \"VALID\" } }" + type_attr("T", "DT_FLOAT") + "} ";
  };
  import(vector("size", "1, 2, 2, 1") + vector("steps", "1, 1, 2, 1") + vector("image_size", "1, 2, 3, 1") +
         R"(node { name: "image" op: "Reshape" input: "table" input: "image_size")" + type_attr("T", "DT_FLOAT") +
         R"(} node { name: "computed" op: "Identity" input: "size")" + type_attr("T", "DT_INT32") + "} " +
         pool("MaxPoolV2", "largest", "image", "size") + pool("MaxPoolV2", "other", "image", "computed") +
         pool("MaxPoolGradV2", "back", R"(image" input: "largest" input: "largest)", "size"));
  EXPECT_EQ(graph.operation("largest").type(), "MaxPool");
  EXPECT_EQ(graph.operation("largest").node().control_inputs().size(), 1U);
  EXPECT_EQ(run("largest"), Tensor::of<float>({5}, {1, 1, 1, 1}));
  EXPECT_EQ(run("back"), Tensor::of<float>({0, 0, 0, 0, 5, 0}, {1, 2, 3, 1}));
  EXPECT_EQ(graph.operation("other").node().inputs().size(), 3U);
  EXPECT_THROW(run("other"), UnimplementedError);
}

TEST_F(OpVersions, OfTopKHaveTheCountAsAnAttribute) {
  import(R"(node { name: "top" op: "TopK" input: "table" attr { key: "k" value { i: 1 } })" +
         type_attr("T", "DT_FLOAT") + "}");
  EXPECT_EQ(run("top:1"), Tensor::of<std::int32_t>({2, 2}, {2, 1}));
}

TEST_F(OpVersions, OfInTopKHaveTheCountAsAnAttribute) {
  import(R"(node { name: "hits" op: "InTopK" input: "table" input: "numbers" attr { key: "k" value { i: 2 } } })");
  EXPECT_EQ(run("hits"), Tensor::of<bool>({true, false}));
}

TEST_F(OpVersions, OfAVariableDoNotTellAScalarFromAnUnknownShape) {
  const auto variable = [](const std::string& name, const std::string& dims) {
    return fmt::format(
        "node {{ name: \"{}\" op: \"Variable\" {} attr {{ key: \"shape\" value {{ shape {{ {} }} }} }} }} ", name,
        type_attr("dtype", "DT_FLOAT"), dims);
  };
  import(variable("any", "") + variable("vector", "dim { size: 3 }"));
  EXPECT_FALSE(graph.output("any").shape().has_rank());
  EXPECT_EQ(graph.output("vector").shape(), PartialShape{3});
}

TEST_F(OpVersions, OfAProductAreLeftAsTheyAreIfTheDTypesDiffer) {
  const auto product = [](const std::string& name, const std::string& result) {
    return fmt::format(
        "node {{ name: \"{}\" op: \"BatchMatMulV3\" input: \"table\" input: \"table\" "
        "attr {{ key: \"adj_y\" value {{ b: true }} }} {}{}{} }} ",
        name, type_attr("Ta", "DT_FLOAT"), type_attr("Tb", "DT_FLOAT"), type_attr("Tout", result));
  };
  import(product("same", "DT_FLOAT") + product("other", "DT_INT32"));
  EXPECT_EQ(run("same"), Tensor::of<float>({14, 32, 32, 77}, {2, 2}));
  EXPECT_EQ(graph.operation("other").type(), "BatchMatMulV3");
}

TEST_F(OpVersions, StayWhereTheProgramDefinesThem) {
  const OpDef own[] = {{"Gather", "Tparams Tindices -> Tparams", "validate_indices:bool=true"}};
  import(kGather, {.name = "", .op_defs = own});
  EXPECT_EQ(graph.operation("rows").type(), "Gather");
}

TEST_F(OpVersions, AreTheNodesThatAnImportReturns) {
  const std::vector<Operation> all = import_graph_def(
      graph, parse_graph_def_text(R"(node { name: "q" op: "FIFOQueue" attr { key: "component_types" value { list {
                                     type: DT_FLOAT } } } })"),
      {.name = ""});
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].type(), "FIFOQueueV2");
}

}  // namespace
}  // namespace trainhook
