// SPDX-License-Identifier: Apache-2.0
/// @file
/// The branches of cond, as graphs from files have them: only one is taken.
#include <trainhook/engine/conditions.hpp>

#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/compat/kernels.hpp>
#include <trainhook/compat/ops.hpp>
#include <trainhook/engine/eigen_session.hpp>
#include <trainhook/graph/op_builder.hpp>
#include <trainhook/graph/variable.hpp>
#include <trainhook/model/ops.hpp>

namespace trainhook {
namespace {

struct Branches : ::testing::Test {
  Graph graph;
  Output predicate = placeholder(graph, DType::Bool, Shape{}, "predicate");
  Output x = placeholder(graph, DType::Float, {-1}, "x");

  std::vector<Output> add(std::string_view type, std::vector<Output> inputs) {
    const Operation op = detail::add_node(graph, *find_op_def(type), {.inputs = std::move(inputs)});
    std::vector<Output> outputs;
    for (std::size_t i = 0; i < op.node().outputs().size(); ++i) outputs.push_back(op.output(i));
    return outputs;
  }

  /// As `tf.cond` does.
  std::vector<Output> cond(const Output& by, const std::function<Output(Output)>& if_true,
                           const std::function<Output(Output)>& if_false) {
    const std::vector<Output> ways = add("Switch", {x, identity(by)});
    return add("Merge", {if_false(ways[0]), if_true(ways[1])});
  }

  Tensor run(const Output& output, bool value, const Tensor& of = Tensor::of<float>({1, 4})) {
    EigenSession session(graph, {.kernels = compat::kernels()});
    return session.run(output, {{predicate, Tensor(value)}, {x, of}});
  }
};

TEST_F(Branches, TakeOneWay) {
  const std::vector<Output> merged = cond(
      predicate, [](Output v) { return sqrt(v); }, [](Output v) { return negative(v); });
  EXPECT_EQ(run(merged[0], true), Tensor::of<float>({1, 2}));
  EXPECT_EQ(run(merged[0], false), Tensor::of<float>({-1, -4}));
  EXPECT_EQ(run(merged[1], true), Tensor(1));
  EXPECT_EQ(run(merged[1], false), Tensor(0));
}

TEST_F(Branches, ThatAreNotTakenDoNotFail) {
  const auto fails = [](Output v) { return check_numerics(log(v), "failed"); };
  const Output merged = cond(predicate, fails, [](Output v) { return v; })[0];
  const Tensor zero = Tensor::of<float>({0});
  EXPECT_EQ(run(merged, false, zero), zero);
  EXPECT_THROW(run(merged, true, zero), InvalidArgumentError);
}

TEST_F(Branches, ThatAreNotTakenChangeNothing) {
  const Variable v = make_variable("v", constant(graph, Tensor(1.0F)));
  const std::vector<Output> handles = add("RefSwitch", {v.ref(), predicate});
  const std::vector<Output> ways = add("Switch", {constant(graph, Tensor(5.0F)), predicate});
  const Output changed = add("AssignAdd", {handles[1], ways[1]})[0];
  const Output merged = add("Merge", {handles[0], changed})[0];
  EigenSession session(graph, {.kernels = compat::kernels()});
  session.run(v.initializer);
  EXPECT_EQ(session.run(merged, {{predicate, Tensor(false)}}), Tensor(1.0F));
  EXPECT_EQ(session.run(v), Tensor(1.0F));
  EXPECT_EQ(session.run(merged, {{predicate, Tensor(true)}}), Tensor(6.0F));
  EXPECT_EQ(session.run(v), Tensor(6.0F));
}

TEST_F(Branches, ThatAreNotTakenHaveNoVariablesEither) {
  const Variable v = make_variable("v", constant(graph, Tensor(1.0F)));
  const Variable by = make_variable("by", constant(graph, Tensor(false)));
  const Output way = add("Switch", {v, by})[1];
  EigenSession session(graph, {.kernels = compat::kernels()});
  session.run(v.initializer);
  session.run(by.initializer);
  EXPECT_THROW(session.run(way), InvalidArgumentError);
  session.run(assign(by, constant(graph, Tensor(true))));
  EXPECT_EQ(session.run(way), Tensor(1.0F));
}

TEST_F(Branches, ReachWhatWaitsForThem) {
  const Variable v = make_variable("v", constant(graph, Tensor(1.0F)));
  const Output pivot = identity(add("Switch", {predicate, predicate})[1]);
  Output more;
  {
    const Graph::Scope after = graph.control_dependencies({pivot.operation()});
    more = constant(graph, Tensor(2.0F));
  }
  const Operation change = assign_add(v, more).operation();
  EigenSession session(graph, {.kernels = compat::kernels()});
  session.run(v.initializer);
  session.run(change, {{predicate, Tensor(false)}});
  EXPECT_EQ(session.run(v), Tensor(1.0F));
  session.run(change, {{predicate, Tensor(true)}});
  EXPECT_EQ(session.run(v), Tensor(3.0F));
}

TEST_F(Branches, MayHoldOthers) {
  const Output inner = placeholder(graph, DType::Bool, Shape{}, "inner");
  const Output merged = cond(
      predicate,
      [&](Output v) {
        const Output way = add("Switch", {inner, predicate})[1];
        const std::vector<Output> ways = add("Switch", {v, way});
        return add("Merge", {negative(ways[0]), square(ways[1])})[0];
      },
      [](Output v) { return sqrt(v); })[0];
  EigenSession session(graph, {.kernels = compat::kernels()});
  const auto value = [&](bool outer, bool nested) {
    return session.run(merged, {{predicate, Tensor(outer)}, {inner, Tensor(nested)}, {x, Tensor::of<float>({4})}});
  };
  for (int i = 0; i < 2; ++i) {  // what a run leaves behind is not seen by the next
    EXPECT_EQ(value(true, true), Tensor::of<float>({16}));
    EXPECT_EQ(value(false, true), Tensor::of<float>({2}));
    EXPECT_EQ(value(true, false), Tensor::of<float>({-4}));
  }
}

TEST_F(Branches, HaveNoValueToFetchIfTheyAreNotTaken) {
  const Output way = add("Switch", {x, predicate})[1];
  const Output inside = negative(way);
  EXPECT_EQ(run(inside, true), Tensor::of<float>({-1, -4}));
  try {
    run(inside, false);
    FAIL() << "no error";
  } catch (const InvalidArgumentError& error) {
    EXPECT_STREQ(error.what(), "'Neg:0' has no value: the branch of cond that computes it was not taken");
  }
}

TEST_F(Branches, MayBeFed) {
  const Output way = add("Switch", {x, predicate})[1];
  const Output inside = negative(way);
  EigenSession session(graph, {.kernels = compat::kernels()});
  EXPECT_EQ(session.run(inside, {{way, Tensor::of<float>({3})}}), Tensor::of<float>({-3}));
}

TEST_F(Branches, FollowPredicatesThatAreVariablesOrConstants) {
  const Variable v = make_variable("v", constant(graph, Tensor(true)));
  const auto minus = [](Output value) { return negative(value); };
  const auto same = [](Output value) { return value; };
  const Output by_variable = cond(v, minus, same)[0];
  const Output by_constant = cond(constant(graph, Tensor(false)), minus, same)[0];
  EigenSession session(graph, {.kernels = compat::kernels()});
  session.run(v.initializer);
  const Tensor one = Tensor::of<float>({1});
  EXPECT_EQ(session.run(by_variable, {{x, one}}), Tensor::of<float>({-1}));
  EXPECT_EQ(session.run(by_constant, {{x, one}}), one);
}

}  // namespace
}  // namespace trainhook
