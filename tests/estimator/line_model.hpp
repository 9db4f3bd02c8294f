// SPDX-License-Identifier: Apache-2.0
/// @file
/// A model of one weight and one bias, its data, and a fixture with a disk and a clock of its own.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/checkpoint/load_checkpoint.hpp>
#include <trainhook/data/dataset.hpp>
#include <trainhook/data/iterator_resource.hpp>
#include <trainhook/engine/eigen_session.hpp>
#include <trainhook/estimator/estimator.hpp>
#include <trainhook/events/event_reader.hpp>
#include <trainhook/graph/global_step.hpp>
#include <trainhook/model/metrics.hpp>
#include <trainhook/model/ops.hpp>
#include <trainhook/model/optimizers.hpp>
#include <trainhook/testing/manual_clock.hpp>
#include <trainhook/testing/memory_file_system.hpp>

namespace trainhook::support {

/// x = 0 to 7 and y = 3 x + 1, in batches of two.
inline Dataset line() {
  std::vector<float> x;
  std::vector<float> y;
  for (int i = 0; i < 8; ++i) {
    x.push_back(static_cast<float>(i));
    y.push_back(3 * x.back() + 1);
  }
  return Dataset::from_tensor_slices({Tensor::copy_of<float>(x, {8}), Tensor::copy_of<float>(y, {8})}).batch(2);
}

inline EstimatorSpec line_model(const ModelInput& input) {
  const auto [x, y] = input.get<2>();
  const Variable weight = get_variable(input.graph, "weight", {});
  const Variable bias = get_variable(input.graph, "bias", {});
  const Output prediction = weight * x + bias;
  const Output loss = reduce_mean(squared_difference(prediction, y));
  EstimatorSpec spec{.predictions = {{"prediction", prediction}, {"twice", 2 * x}}, .loss = loss};
  if (input.mode == ModeKeys::Train)
    spec.train_op = AdamOptimizer({.learning_rate = 0.1}).minimize(loss, *get_global_step(input.graph));
  if (input.mode == ModeKeys::Eval) spec.eval_metric_ops = {{"mean x", metrics::mean(x)}};
  return spec;
}

class EstimatorTest : public ::testing::Test {
 protected:
  Estimator make(ModelFn model_fn, RunConfig config = {}) {
    if (config.model_dir.empty()) config.model_dir = "run";
    config.file_system = &disk_;
    config.clock = &clock_;
    return make_estimator<EigenSession>(std::move(model_fn), std::move(config));
  }

  std::int64_t step_of(const Estimator& estimator) {
    return load_variable(disk_, estimator.model_dir(), "global_step").scalar<std::int64_t>();
  }

  std::vector<float> weights_of(const Estimator& estimator) {
    return {load_variable(disk_, estimator.model_dir(), "weight").scalar<float>(),
            load_variable(disk_, estimator.model_dir(), "bias").scalar<float>()};
  }

  /// What evaluations have written into a directory: by step and tag.
  std::map<std::pair<std::int64_t, std::string>, float> scalars_in(const std::string& directory) {
    std::map<std::pair<std::int64_t, std::string>, float> scalars;
    for (const auto& [step, tags] : read_eval_metrics(disk_, directory))
      for (const auto& [tag, value] : tags) scalars.emplace(std::pair(step, tag), static_cast<float>(value));
    return scalars;
  }

  testing::MemoryFileSystem disk_;
  testing::ManualClock clock_;
};

}  // namespace trainhook::support
