// SPDX-License-Identifier: Apache-2.0
/// @file
/// Calls of functions become the nodes of their bodies.
#include <trainhook/compat/graph_def_rewrites.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <trainhook/compat/import_graph_def.hpp>
#include <trainhook/compat/import_meta_graph.hpp>
#include <trainhook/compat/kernels.hpp>
#include <trainhook/engine/eigen_session.hpp>
#include <trainhook/graph/op_signature.hpp>

#include "expect_error.hpp"

namespace trainhook {
namespace {

using testing::expect_error;

std::string type_attr(std::string_view key, std::string_view dtype) {
  return fmt::format(" attr {{ key: \"{}\" value {{ type: {} }} }}", key, dtype);
}
std::string function_attr(std::string_view key, std::string_view name) {
  return fmt::format(" attr {{ key: \"{}\" value {{ func {{ name: \"{}\" }} }} }}", key, name);
}

/// A node whose inputs are the words of `inputs`.
std::string node(std::string_view field, std::string_view name, std::string_view op, std::string_view inputs,
                 const std::string& attrs) {
  std::string text = fmt::format("{} {{ name: \"{}\" op: \"{}\"", field, name, op);
  for (detail::Words words(inputs); words.has_next();) text += fmt::format(" input: \"{}\"", words.next());
  return text + attrs + " }\n";
}
std::string outer(std::string_view name, std::string_view op, std::string_view inputs, const std::string& attrs) {
  return node("node", name, op, inputs, attrs);
}
std::string inner(std::string_view name, std::string_view op, std::string_view inputs, const std::string& attrs) {
  return node("node_def", name, op, inputs, attrs);
}
std::string number(std::string_view field, std::string_view name, float value) {
  return node(field, name, "Const", "",
              type_attr("dtype", "DT_FLOAT") +
                  fmt::format(" attr {{ key: \"value\" value {{ tensor {{ dtype: DT_FLOAT tensor_shape {{ }} "
                              "float_val: {} }} }} }}",
                              value));
}

/// A function. `inputs` and `outputs` are words such as `x:DT_FLOAT`; `results` such as `y=product:z:0`.
std::string function(std::string_view name, std::string_view inputs, std::string_view outputs, std::string_view results,
                     const std::string& nodes, std::string_view effects = "") {
  std::string text = fmt::format("library {{ function {{ signature {{ name: \"{}\"", name);
  for (const auto& [field, args] : {std::pair{"input_arg", inputs}, {"output_arg", outputs}}) {
    for (detail::Words words(args); words.has_next();) {
      detail::Words parts(words.next(), ':');
      const std::string_view arg = parts.next();
      text += fmt::format(" {} {{ name: \"{}\" type: {} }}", field, arg, parts.next());
    }
  }
  text += " }\n" + nodes;
  for (detail::Words words(results); words.has_next();) {
    detail::Words parts(words.next(), '=');
    const std::string_view key = parts.next();
    text += fmt::format(" ret {{ key: \"{}\" value: \"{}\" }}", key, parts.next());
  }
  for (detail::Words words(effects); words.has_next();)
    text += fmt::format(" control_ret {{ key: \"effect\" value: \"{}\" }}", words.next());
  return text + "} }\n";
}

const std::string kFloat = type_attr("T", "DT_FLOAT");
const std::string kInput = outer("x", "Placeholder", "", type_attr("dtype", "DT_FLOAT"));
const std::string kDouble = function("double", "x:DT_FLOAT", "y:DT_FLOAT", "y=product:z:0",
                                     number("node_def", "two", 2) + inner("product", "Mul", "x two:output:0", kFloat));

struct FunctionCalls : ::testing::Test {
  Graph graph;

  void import(const std::string& text) { import_graph_def(graph, parse_graph_def_text(text, "model"), {.name = ""}); }
};

TEST_F(FunctionCalls, BecomeNodesBelowTheNameOfTheCallWhichKeepsItsName) {
  import(kInput + outer("call", "PartitionedCall", "x", function_attr("f", "double")) +
         outer("again", "double", "call:0", "") + kDouble);
  EXPECT_EQ(graph.operation("call/product").type(), "Mul");
  EXPECT_EQ(graph.operation("call").type(), "Identity");
  EXPECT_EQ(EigenSession(graph, {.kernels = compat::kernels()})
                .run(graph.output("again:0"), {{graph.output("x"), Tensor(3.0F)}}),
            Tensor(12.0F));
}

TEST_F(FunctionCalls, KeepTheirPlaceAmongTheNodesThatAnImportReturns) {
  const std::vector<Operation> all = import_graph_def(
      graph,
      parse_graph_def_text(kInput + outer("call", "PartitionedCall", "x", function_attr("f", "double")) + kDouble),
      {.name = "model"});
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[1].name(), "model/call");
  EXPECT_EQ(graph.operation("model/call/two").type(), "Const");
}

TEST_F(FunctionCalls, MayCallOthersAndGiveSeveralResultsByTheNamesOfOutputs) {
  import(kInput + outer("call", "StatefulPartitionedCall", "x", function_attr("f", "best")) +
         function("best", "x:DT_FLOAT", "places:DT_INT32 values:DT_FLOAT", "values=top:values:0 places=top:indices:0",
                  inner("twice", "PartitionedCall", "x", function_attr("f", "double")) +
                      inner("top", "TopK", "twice:output:0", kFloat + " attr { key: \"k\" value { i: 1 } }")) +
         kDouble);
  EXPECT_EQ(graph.operation("call").type(), "IdentityN");
  EXPECT_EQ(graph.operation("call/twice/product").type(), "Mul");
  EigenSession session(graph, {.kernels = compat::kernels()});
  const FeedDict feeds{{graph.output("x"), Tensor::of<float>({1, 5, 3})}};
  EXPECT_EQ(session.run(graph.output("call:0"), feeds), Tensor::of<std::int32_t>({1}));
  EXPECT_EQ(session.run(graph.output("call:1"), feeds), Tensor::of<float>({10}));
}

const std::string kVariable = outer("v", "VarHandleOp", "",
                                    type_attr("dtype", "DT_FLOAT") +
                                        " attr { key: \"shape\" value { shape { } } } "
                                        "attr { key: \"shared_name\" value { s: \"v\" } }") +
                              number("node", "one", 1) +
                              outer("init", "AssignVariableOp", "v one", type_attr("dtype", "DT_FLOAT")) +
                              outer("read", "ReadVariableOp", "v", type_attr("dtype", "DT_FLOAT"));

/// Multiplies the variable by `factor`.
std::string scaling(std::string_view name, float factor) {
  return function(name, "v:DT_RESOURCE", "", "",
                  number("node_def", "factor", factor) +
                      inner("value", "ReadVariableOp", "v", type_attr("dtype", "DT_FLOAT")) +
                      inner("scaled", "Mul", "value:value:0 factor:output:0", kFloat) +
                      inner("assign", "AssignVariableOp", "v scaled:z:0", type_attr("dtype", "DT_FLOAT")),
                  "assign");
}

TEST_F(FunctionCalls, ChangeTheVariablesWhoseHandlesTheyAreGiven) {
  import(kVariable + outer("call", "StatefulPartitionedCall", "v ^init", function_attr("f", "scale")) +
         scaling("scale", 5) + outer("after", "ReadVariableOp", "v ^call", type_attr("dtype", "DT_FLOAT")));
  EXPECT_EQ(graph.operation("call").type(), "NoOp");
  EigenSession session(graph, {.kernels = compat::kernels()});
  EXPECT_EQ(session.run(graph.output("after:0")), Tensor(5.0F)) << "after the assignment, as the control inputs say";
}

TEST_F(FunctionCalls, OfTheBranchThatIsChosenRunAlone) {
  import(kVariable + outer("p", "Placeholder", "", type_attr("dtype", "DT_BOOL")) +
         outer("if", "If", "p v",
               type_attr("Tcond", "DT_BOOL") + function_attr("then_branch", "grow") +
                   function_attr("else_branch", "shrink")) +
         scaling("grow", 10) + scaling("shrink", 0.5F));
  EigenSession session(graph, {.kernels = compat::kernels()});
  session.run(graph.operation("init"));
  const auto run = [&](bool grows) {
    session.run(graph.operation("if"), {{graph.output("p"), Tensor(grows)}});
    return session.run(graph.output("read:0"));
  };
  EXPECT_EQ(run(true), Tensor(10.0F));
  EXPECT_EQ(run(false), Tensor(5.0F));
  EXPECT_EQ(run(false), Tensor(2.5F));
}

TEST_F(FunctionCalls, OfBranchesMayGiveAnInputOrAConstant) {
  import(kInput + outer("p", "Placeholder", "", type_attr("dtype", "DT_BOOL")) +
         outer("if", "StatelessIf", "p x",
               type_attr("Tcond", "DT_BOOL") + function_attr("then_branch", "same") +
                   function_attr("else_branch", "seven")) +
         function("same", "x:DT_FLOAT", "y:DT_FLOAT", "y=x", "") +
         function("seven", "x:DT_FLOAT", "y:DT_FLOAT", "y=c:output:0", number("node_def", "c", 7)));
  EigenSession session(graph, {.kernels = compat::kernels()});
  const auto run = [&](bool condition) {
    return session.run(graph.output("if:0"),
                       {{graph.output("x"), Tensor(3.0F)}, {graph.output("p"), Tensor(condition)}});
  };
  EXPECT_EQ(run(true), Tensor(3.0F));
  EXPECT_EQ(run(false), Tensor(7.0F));
}

TEST_F(FunctionCalls, LeaveTheNamesOfOtherNodesAlone) {
  import(kInput + outer("call", "PartitionedCall", "x", function_attr("f", "double")) +
         outer("call/two", "NoOp", "", "") + kDouble);
  EXPECT_EQ(graph.operation("call/two").type(), "NoOp");
  EXPECT_EQ(graph.operation("call_/two").type(), "Const");
}

TEST_F(FunctionCalls, OfFunctionsThatAreNotThereOrGiveAResourceCannotRun) {
  import(kInput + outer("call", "PartitionedCall", "x", function_attr("f", "other")) +
         outer("handle", "PartitionedCall", "x", function_attr("f", "handle")) + kDouble +
         function("handle", "x:DT_FLOAT", "v:DT_RESOURCE", "v=v:resource:0", inner("v", "VarHandleOp", "", "")));
  EXPECT_EQ(graph.operation("call").type(), "PartitionedCall");
  EXPECT_EQ(graph.operation("handle").type(), "PartitionedCall");
}

TEST_F(FunctionCalls, ThatDoNotFitTheirFunctionAreRefused) {
  const std::string call = kInput + outer("call", "double", "x x", "") + kDouble;
  expect_error({"model", "'call/'", "2 inputs", "double", "takes 1"}, [&] { import(call); });
  const std::string body = kInput + outer("call", "f", "x", "");
  expect_error({"model", "function f has no node 'z'"},
               [&] { import(body + function("f", "x:DT_FLOAT", "y:DT_FLOAT", "y=z:y:0", "")); });
  expect_error({"model", "function f has no result 'y'"},
               [&] { import(body + function("f", "x:DT_FLOAT", "y:DT_FLOAT", "", "")); });
}

TEST_F(FunctionCalls, OfFunctionsThatCallThemselvesAreRefused) {
  const std::string again = function("f", "x:DT_FLOAT", "y:DT_FLOAT", "y=a:y:0", inner("a", "f", "x", ""));
  EXPECT_THROW(import(kInput + outer("call", "f", "x", "") + again), UnimplementedError);
}

}  // namespace
}  // namespace trainhook
