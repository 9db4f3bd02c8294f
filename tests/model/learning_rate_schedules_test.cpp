// SPDX-License-Identifier: Apache-2.0
/// @file
/// Schedules give a float32 scalar and check their options.
#include <trainhook/model/learning_rate_schedules.hpp>

#include <vector>

#include <gtest/gtest.h>

#include <trainhook/graph/global_step.hpp>

#include "expect_error.hpp"

namespace trainhook {
namespace {

using testing::expect_error;

TEST(LearningRateSchedules, GiveAFloatScalar) {
  Graph graph;
  const Variable step = create_global_step(graph);
  const std::vector<Output> rates = {
      exponential_decay(0.1, step, {.decay_steps = 10, .decay_rate = 0.5, .staircase = true}),
      inverse_time_decay(0.1, step, {.decay_steps = 10, .decay_rate = 0.5}),
      polynomial_decay(0.1, step, {.decay_steps = 10}), cosine_decay(0.1, step, 10),
      piecewise_constant(step, {5, 10}, {1, 0.5, 0.1})};
  for (const Output& rate : rates) {
    EXPECT_EQ(rate.dtype(), DType::Float) << rate.name();
    EXPECT_EQ(rate.shape(), PartialShape(Shape{})) << rate.name();
  }
}

TEST(LearningRateSchedules, RefuseBadOptions) {
  Graph graph;
  const Variable step = create_global_step(graph);
  expect_error({"decay_steps 0"}, [&] { exponential_decay(0.1, step, {.decay_rate = 0.5}); });
  expect_error({"one value more"}, [&] { piecewise_constant(step, {5}, {1}); });
  expect_error({"does not rise"}, [&] { piecewise_constant(step, {5, 5}, {1, 2, 3}); });
}

}  // namespace
}  // namespace trainhook
