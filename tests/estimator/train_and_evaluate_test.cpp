// SPDX-License-Identifier: Apache-2.0
/// @file
/// train_and_evaluate: which checkpoints it evaluates, and what it returns.
#include <trainhook/estimator/train_and_evaluate.hpp>

#include <chrono>
#include <cstdint>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include <trainhook/testing/log_lines.hpp>

#include "line_model.hpp"

namespace trainhook {
namespace {

using namespace std::chrono_literals;
using support::EstimatorTest;
using support::line;
using support::line_model;
using Steps = std::set<std::int64_t>;

class TrainAndEvaluate : public EstimatorTest {
 protected:
  Steps evaluated(const std::string& directory = "run/eval") {
    Steps steps;
    for (const auto& [key, value] : scalars_in(directory)) steps.insert(key.first);
    return steps;
  }
};

TEST_F(TrainAndEvaluate, EvaluatesEachCheckpointWithoutThrottle) {
  Estimator estimator = make(line_model, {.save_checkpoints_steps = 2});
  const auto metrics = train_and_evaluate(estimator, {.input_fn = line().repeat(), .max_steps = 5},
                                          {.input_fn = line(), .throttle_secs = 0s});
  ASSERT_TRUE(metrics.has_value());
  EXPECT_EQ(metrics->at("global_step").scalar<std::int64_t>(), 5);
  EXPECT_EQ(evaluated(), (Steps{2, 4, 5}));
}

TEST_F(TrainAndEvaluate, SkipsWhatComesTooSoonButTheLast) {
  Estimator estimator = make(line_model, {.save_checkpoints_steps = 2});
  const testing::LogLines log;
  train_and_evaluate(estimator, {.input_fn = line().repeat(), .max_steps = 7},
                     {.input_fn = line(), .steps = 1, .name = "test"});
  EXPECT_EQ(evaluated("run/eval_test"), (Steps{2, 7}));
  EXPECT_EQ(log.count("Skip the current checkpoint eval due to throttle secs (600 secs)."), 3U);  // 4, 6, 7
}

TEST_F(TrainAndEvaluate, GoesOnWhereItWas) {
  Estimator estimator = make(line_model, {.save_checkpoints_steps = 2});
  const TrainSpec half{.input_fn = line().repeat(), .max_steps = 3};
  const EvalSpec eval{.input_fn = line(), .throttle_secs = 0s};
  train_and_evaluate(estimator, half, eval);
  train_and_evaluate(estimator, {.input_fn = line().repeat(), .max_steps = 6}, eval);
  EXPECT_EQ(evaluated(), (Steps{2, 3, 5, 6}));
  EXPECT_FALSE(train_and_evaluate(estimator, half, eval).has_value()) << "training was over";
}

}  // namespace
}  // namespace trainhook
