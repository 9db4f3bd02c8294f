// SPDX-License-Identifier: Apache-2.0
/// @file
/// The nodes, inputs and names of each optimizer, as TensorFlow has them.
#include <trainhook/model/optimizers.hpp>

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/graph/global_step.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/model/ops/math.hpp>
#include <trainhook/model/ops/nn.hpp>

#include "expect_error.hpp"

namespace trainhook {
namespace {

using testing::expect_error;

std::vector<std::string> input_names(const Operation& operation) {
  std::vector<std::string> names;
  for (const Output& input : operation.node().inputs()) names.push_back(input.node().name());
  return names;
}

std::vector<std::string> variable_names(const Graph& graph) {
  std::vector<std::string> names;
  for (const Variable& variable : global_variables(graph)) names.push_back(variable.name());
  return names;
}

using Names = std::vector<std::string>;

struct Optimizers : ::testing::Test {
  Graph graph;
  Variable w = get_variable(graph, "w", {2}, {.initializer = zeros_initializer()});
  Output loss = l2_loss(w);
  Names variables_beside_w() {
    Names names = variable_names(graph);
    names.erase(names.begin());
    return names;
  }
};

TEST_F(Optimizers, AdamHasTensorFlowsSlotsAndInputs) {
  AdamOptimizer adam({.learning_rate = 0.01});
  const Operation train = adam.minimize(loss);
  EXPECT_EQ(train.name(), "Adam");
  EXPECT_EQ(variables_beside_w(), (Names{"beta1_power", "beta2_power", "w/Adam", "w/Adam_1"}));
  EXPECT_EQ(adam.get_slot(w, "m")->name(), "w/Adam");
  EXPECT_EQ(adam.get_slot(w, "v")->name(), "w/Adam_1");
  EXPECT_FALSE(adam.get_slot(w, "u").has_value());
  const Operation apply = graph.operation("Adam/update_w/ApplyAdam");
  const Names inputs = input_names(apply);
  ASSERT_EQ(inputs.size(), 10U);
  EXPECT_EQ(Names(inputs.begin(), inputs.end() - 1),
            (Names{"w", "w/Adam", "w/Adam_1", "beta1_power/read", "beta2_power/read", "Adam/learning_rate",
                   "Adam/beta1", "Adam/beta2", "Adam/epsilon"}));
  EXPECT_EQ(graph.collection<Operation>(graph_keys::kTrainOp), (std::vector<Operation>{train}));
}

TEST_F(Optimizers, GlobalStepIsTheLastThingThatChanges) {
  const Variable step = create_global_step(graph);
  const Operation train = AdamOptimizer().minimize(loss, step);
  EXPECT_EQ(train.name(), "Adam");
  EXPECT_EQ(train.type(), "AssignAdd");
  EXPECT_EQ(train.node().inputs()[0], step.ref());
  ASSERT_EQ(train.node().control_inputs().size(), 1U);
  const Operation update = train.node().control_inputs()[0];
  EXPECT_EQ(update.name(), "Adam/update");
  EXPECT_EQ(update.node().control_inputs().size(), 3U) << "one ApplyAdam, two powers";
}

TEST_F(Optimizers, NoVariableChangesBeforeAllGradientsAreThere) {
  const Variable b = get_variable(graph, "b", {2}, {.initializer = zeros_initializer()});
  GradientDescentOptimizer({.learning_rate = 1}).minimize(l2_loss(w * b));
  const Operation apply = graph.operation("GradientDescent/update_b/ApplyGradientDescent");
  ASSERT_EQ(apply.node().control_inputs().size(), 1U);
  EXPECT_EQ(apply.node().control_inputs()[0].node().control_inputs().size(), 2U);
}

TEST_F(Optimizers, MomentumAdagradAndRmsPropHaveTheirSlots) {
  MomentumOptimizer({.learning_rate = 1, .momentum = 0.9, .use_nesterov = true}).minimize(loss);
  AdagradOptimizer({.learning_rate = 1}).minimize(loss);
  RMSPropOptimizer({.learning_rate = 1}).minimize(loss);
  EXPECT_EQ(variables_beside_w(), (Names{"w/Momentum", "w/Adagrad", "w/RMSProp", "w/RMSProp_1"}));
  EXPECT_TRUE(graph.operation("Momentum/update_w/ApplyMomentum").node().attr<bool>("use_nesterov"));
  EXPECT_EQ(input_names(graph.operation("RMSProp/update_w/ApplyRMSProp"))[2], "w/RMSProp_1");
  EXPECT_EQ(graph.operation("w/Adagrad/Initializer/Const").node().attr<Tensor>("value"),
            Tensor::of<float>({0.1F, 0.1F}));
}

TEST_F(Optimizers, CenteredRmsPropAlsoKeepsTheMeanGradient) {
  RMSPropOptimizer({.learning_rate = 1, .centered = true}).minimize(loss);
  EXPECT_EQ(variables_beside_w(), (Names{"w/RMSProp", "w/RMSProp_1", "w/RMSProp_2"}));
  const std::vector<std::string> inputs = input_names(graph.operation("RMSProp/update_w/ApplyCenteredRMSProp"));
  EXPECT_EQ((Names{inputs[1], inputs[2], inputs[3]}), (Names{"w/RMSProp_1", "w/RMSProp", "w/RMSProp_2"}));
}

TEST_F(Optimizers, TwoOfAKindKeepTheirSlotsApart) {
  AdamOptimizer().minimize(loss);
  const Operation second = AdamOptimizer().minimize(loss);
  EXPECT_EQ(second.name(), "Adam_1");
  EXPECT_EQ(variables_beside_w(), (Names{"beta1_power", "beta2_power", "w/Adam", "w/Adam_1", "beta1_power_1",
                                         "beta2_power_1", "w/Adam_2", "w/Adam_3"}));
}

TEST_F(Optimizers, NumbersAreCastToTheDtypeOfTheVariable) {
  const Variable d = get_variable(graph, "d", {2}, {.dtype = DType::Double, .initializer = zeros_initializer()});
  GradientDescentOptimizer({.learning_rate = 0.1}).minimize(l2_loss(d), std::nullopt, {d});
  const Operation apply = graph.operation("GradientDescent/update_d/ApplyGradientDescent");
  EXPECT_EQ(apply.node().inputs()[1].dtype(), DType::Double);
  EXPECT_EQ(apply.node().inputs()[1].node().type(), "Cast");
}

TEST_F(Optimizers, LearningRateMayBeATensor) {
  const Output rate = placeholder(graph, DType::Float, Shape{}, "rate");
  GradientDescentOptimizer({.learning_rate = rate}).minimize(loss);
  EXPECT_EQ(graph.operation("GradientDescent/update_w/ApplyGradientDescent").node().inputs()[1], rate);
}

TEST_F(Optimizers, RefuseBadOptionsByName) {
  expect_error({"GradientDescent", "learning_rate"}, [] { GradientDescentOptimizer({}); });
  expect_error({"learning_rate", "empty Output"}, [] { GradientDescentOptimizer({.learning_rate = Output()}); });
  expect_error({"learning_rate", "-1"}, [] { AdamOptimizer({.learning_rate = -1}); });
  expect_error({"beta1", "[0, 1)"}, [] { AdamOptimizer({.beta1 = 1.0}); });
  expect_error({"Momentum", "momentum"}, [] { MomentumOptimizer({.learning_rate = 1}); });
  expect_error({"initial_accumulator_value"},
               [] { AdagradOptimizer({.learning_rate = 1, .initial_accumulator_value = 0}); });
}

TEST_F(Optimizers, RefuseWhatCannotBeTrained) {
  Graph empty;
  const Output x = placeholder(empty, DType::Float, {2});
  expect_error({"no trainable variables"}, [&] { AdamOptimizer().minimize(l2_loss(x)); });
  const Output elsewhere = l2_loss(placeholder(graph, DType::Float, {2}));
  expect_error({"No gradients provided for any variable"}, [&] { AdamOptimizer().minimize(elsewhere); });
  const Output wrong = placeholder(graph, DType::Float, {3});
  expect_error({"'w:0' float32[2]", "float32[3]"}, [&] { AdamOptimizer().apply_gradients({{wrong, w}}); });
}

}  // namespace
}  // namespace trainhook
