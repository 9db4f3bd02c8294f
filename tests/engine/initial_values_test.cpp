// SPDX-License-Identifier: Apache-2.0
/// @file
/// Variables whose initial values depend on other variables.
#include <trainhook/engine/initial_values.hpp>

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/engine/eigen_session.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/ops/control_flow.hpp>
#include <trainhook/graph/ops/state.hpp>
#include <trainhook/model/ops/join.hpp>
#include <trainhook/model/ops/math.hpp>
#include <trainhook/model/ops/random.hpp>

namespace trainhook {
namespace {

class InitialValues : public ::testing::Test {
 protected:
  Output number(float value) { return constant(graph, Tensor(value)); }

  static VariableOptions local() {
    return {.trainable = false, .collections = {std::string(graph_keys::kLocalVariables)}};
  }

  void run_default_initializers() {
    const Operation global = variables_initializer(graph, global_variables(graph));
    const Operation local = variables_initializer(graph, local_variables(graph));
    session.run(global);
    session.run(local);
  }

  float value(const Variable& variable) { return session.run(variable).scalar<float>(); }

  Graph graph;
  EigenSession session{graph};
};

TEST_F(InitialValues, FollowTheVariablesThatTheyDependOn) {
  const Variable v = make_variable("v", number(2));
  const Variable w = make_variable("w", 3 * v);
  run_default_initializers();
  EXPECT_EQ(value(w), 6);
  EXPECT_EQ(value(v), 2);
}

TEST_F(InitialValues, DependOnEachOtherInChains) {
  const Variable v = make_variable("v", number(2));
  const Variable w = make_variable("w", 3 * v);
  const Variable x = make_variable("x", add(w, v));
  const Variable y = make_variable("y", multiply(identity(x), x));
  run_default_initializers();
  EXPECT_EQ(value(w), 6);
  EXPECT_EQ(value(x), 8);
  EXPECT_EQ(value(y), 64);
}

TEST_F(InitialValues, AreComputedWithoutTheOtherInitializers) {
  const Variable v = make_variable("v", number(2));
  const Variable w = make_variable("w", 3 * v);
  const Variable x = make_variable("x", w + 1);
  session.run(x.initializer);
  EXPECT_EQ(value(x), 7);
  EXPECT_THROW(session.run(w), FailedPreconditionError);
  EXPECT_THROW(session.run(v), FailedPreconditionError);
}

TEST_F(InitialValues, TakePresentValuesOfVariablesThatHaveOne) {
  const Variable v = make_variable("v", number(2));
  const Variable w = make_variable("w", 3 * v);
  const Operation set = assign(v, 5).operation();
  session.run(v.initializer);
  session.run(set);
  session.run(w.initializer);
  EXPECT_EQ(value(w), 15);
}

TEST_F(InitialValues, TakeTheValuesThatTheSameRunGives) {
  const Variable v = make_variable("v", number(2));
  const Variable w = make_variable("w", 3 * v);
  const Operation set = assign(v, 5).operation();
  run_default_initializers();
  session.run(set);
  run_default_initializers();
  EXPECT_EQ(value(v), 2);
  EXPECT_EQ(value(w), 6);
}

TEST_F(InitialValues, PassThroughALocalVariable) {
  const Variable v = make_variable("v", number(2));
  const Variable w = make_variable("w", 3 * v, local());
  const Variable x = make_variable("x", w + 1);
  run_default_initializers();  // those of v and x, then that of w
  EXPECT_EQ(value(x), 7);
  EXPECT_EQ(value(w), 6);
}

TEST_F(InitialValues, OfALocalVariableTakeWhatWasRestored) {
  const Variable v = make_variable("v", number(2));
  const Variable w = make_variable("w", 3 * v, local());
  session.load(std::vector<NamedTensor>{{"v", Tensor(10.0F)}});
  session.run(variables_initializer(graph, local_variables(graph)));
  EXPECT_EQ(value(w), 30);
  EXPECT_EQ(value(v), 10);
}

TEST_F(InitialValues, ShareTheRandomNumbersOfTheirVariable) {
  const Variable v = make_variable("v", random_normal(graph, {3, 4}));
  const Variable w = make_variable("w", identity(v));
  run_default_initializers();
  EXPECT_EQ(session.run(w), session.run(v));
}

TEST_F(InitialValues, JoinPartsOfAVariable) {
  const Variable first = make_variable("v/part_0", constant(graph, Tensor::of<float>({1, 2})));
  const Variable second = make_variable("v/part_1", constant(graph, Tensor::of<float>({3})));
  const Variable w = make_variable("w", 2 * concat({first, second}, 0));
  run_default_initializers();
  EXPECT_EQ(session.run(w), Tensor::of<float>({2, 4, 6}));
}

TEST_F(InitialValues, LeaveTheSameNodesInOtherRunsAlone) {
  const Variable v = make_variable("v", number(2));
  const Output tripled = 3 * v;
  const Variable w = make_variable("w", tripled);
  EXPECT_THROW(session.run(tripled), FailedPreconditionError);
  run_default_initializers();
  session.run(assign(v, 5));
  EXPECT_EQ(session.run(tripled).scalar<float>(), 15);
  EXPECT_EQ(value(w), 6);
}

TEST_F(InitialValues, KeepTheEffectsOfNodesThatTheyTakeValuesFrom) {
  const Variable count = make_variable("count", number(0));
  const Variable v = make_variable("v", number(2));
  const Variable w = make_variable("w", v + assign_add(count, 10));
  session.run(count.initializer);
  session.run(w.initializer);
  EXPECT_EQ(value(w), 12);
  EXPECT_EQ(value(count), 10);
}

TEST_F(InitialValues, TakeWhatIsFed) {
  const Variable v = make_variable("v", number(2));
  const Variable w = make_variable("w", 3 * v);
  session.run(w.initializer, {{v, Tensor(7.0F)}});
  EXPECT_EQ(value(w), 21);
}

TEST_F(InitialValues, NeedAValueOfVariablesInNoCollection) {
  const Variable v = make_variable("v", number(2), {.trainable = false, .collections = {}});
  const Variable w = make_variable("w", 3 * v);
  EXPECT_THROW(session.run(w.initializer), FailedPreconditionError);
  session.run(v.initializer);
  session.run(w.initializer);
  EXPECT_EQ(value(w), 6);
}

TEST_F(InitialValues, DoNotShareMemoryWithTheirVariable) {
  const Variable v = make_variable("v", constant(graph, Tensor::of<float>({1, 2})));
  const Variable w = make_variable("w", identity(v));
  run_default_initializers();
  session.run(assign_add(v, constant(graph, Tensor::of<float>({10, 10}))));
  EXPECT_EQ(session.run(w), Tensor::of<float>({1, 2}));
  EXPECT_EQ(session.run(v), Tensor::of<float>({11, 12}));
}

TEST_F(InitialValues, AreFoundInChainsOfAnyLength) {
  Variable last = make_variable("v", number(0));
  for (int i = 0; i < 2'000; ++i) last = make_variable("w" + std::to_string(i), last + 1);
  session.run(last.initializer);
  EXPECT_EQ(value(last), 2'000);
  run_default_initializers();
  EXPECT_EQ(value(last), 2'000);
}

}  // namespace
}  // namespace trainhook
