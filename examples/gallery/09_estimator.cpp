// SPDX-License-Identifier: Apache-2.0
// 09 An Estimator. One function describes the model for training, evaluation and prediction. The estimator makes
// graphs and sessions from it, trains and evaluates in turns, and goes on from its directory if it is started again.
//
//     build/examples/gallery/09_estimator [directory]

#include <chrono>
#include <cmath>
#include <cstdint>
#include <string>

#include <fmt/core.h>
#include <trainhook/engine.hpp>
#include <trainhook/estimator.hpp>
#include <trainhook/trainhook.hpp>

namespace th = trainhook;

/// Points of the plane; the label tells whether one lies within the circle of radius 1.
th::Dataset points(std::int64_t begin, std::int64_t end) {
  return th::Dataset::from_function(end - begin, [begin](std::int64_t i) {
    const auto at = static_cast<float>(begin + i);
    const float x = 2 * std::sin(3.7F * at), y = 2 * std::sin(5.3F * at);
    const std::int64_t label = std::hypot(x, y) < 1 ? 1 : 0;
    return th::Element{th::Tensor::of<float>({x, y}), th::Tensor(label)};
  });
}

th::EstimatorSpec circle_model(const th::ModelInput& input) {
  const auto [xy, label] = input.get<2>();
  const th::Output hidden = th::tanh(th::dense(xy, 16, "hidden"));
  const th::Output logits = th::dense(hidden, 2, "logits");
  const th::Output inside = th::argmax(logits, 1);
  const th::Output loss = th::reduce_mean(th::sparse_softmax_cross_entropy_with_logits(label, logits));

  th::EstimatorSpec spec{.predictions = {{"inside", inside}}, .loss = loss};
  if (input.mode == th::ModeKeys::Train)
    spec.train_op =
        th::AdamOptimizer({.learning_rate = 0.02}).minimize(loss, th::get_or_create_global_step(input.graph));
  if (input.mode == th::ModeKeys::Eval) spec.eval_metric_ops = {{"accuracy", th::metrics::accuracy(label, inside)}};
  return spec;
}

int main(int argc, char** argv) {
  const std::string directory = argc > 1 ? argv[1] : "estimator-run";
  auto estimator =
      th::make_estimator<th::EigenSession>(circle_model, {.model_dir = directory, .save_checkpoints_steps = 100});

  const th::Dataset training = points(0, 800).shuffle(800, 7).repeat().batch(32), test = points(800, 1'000).batch(50);
  const auto metrics = th::train_and_evaluate(
      estimator, {.input_fn = training, .max_steps = 400, .hooks = {th::CheckpointInputPipelineHook(estimator)}},
      {.input_fn = test, .throttle_secs = std::chrono::seconds(0)});  // each checkpoint
  if (metrics) fmt::print("accuracy {:.2f}\n", metrics->at("accuracy").scalar<float>());

  for (const th::Prediction& each : estimator.predict(points(1'000, 1'008).batch(4)))
    fmt::print("{} ", each.at("inside").scalar<std::int64_t>() == 1 ? "inside" : "outside");
  fmt::print("\n");
}
