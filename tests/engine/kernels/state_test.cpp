// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of kernels, variables.
#include <trainhook/engine/kernels.hpp>

#include <gtest/gtest.h>

#include <trainhook/engine/graph_session.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/ops/state.hpp>

namespace trainhook {
namespace {

TEST(StateKernels, RefuseAValueOfAnotherShape) {
  Graph graph;
  const Variable v = make_variable("v", constant(graph, Tensor::of<float>({1, 2})));
  const Output x = placeholder(graph, DType::Float, {}, "x");
  const Output assigned = assign(v, x);
  const Output added = assign_add(v, x);
  GraphSession session(graph, {.kernels = {kernels::state()}});
  session.run(v.initializer);
  EXPECT_THROW(session.run(assigned, {{x, Tensor(1.0F)}}), InvalidArgumentError);
  EXPECT_THROW(session.run(added, {{x, Tensor(1.0F)}}), InvalidArgumentError);
  EXPECT_EQ(session.run(assigned, {{x, Tensor::of<float>({5, 6})}}), Tensor::of<float>({5, 6}));
  EXPECT_EQ(session.run(added, {{x, Tensor::of<float>({1, 1})}}), Tensor::of<float>({6, 7}));
}

TEST(StateKernels, DoNotChangeWhatWasAssigned) {
  Graph graph;
  const Output start = constant(graph, Tensor::of<float>({1, 2}));
  const Variable v = make_variable("v", start);
  const Output added = assign_add(v, start);
  GraphSession session(graph, {.kernels = {kernels::state()}});
  session.run(v.initializer);
  session.run(added);
  EXPECT_EQ(session.run(start), Tensor::of<float>({1, 2}));
  EXPECT_EQ(session.run(v), Tensor::of<float>({2, 4}));
}

}  // namespace
}  // namespace trainhook
