// SPDX-License-Identifier: Apache-2.0
/// @file
/// Program graph of the README of version 0.1.0.
#include <cstdint>
#include <memory>

#include <fmt/core.h>
#include <trainhook/engine/eigen_session.hpp>
#include <trainhook/trainhook.hpp>
namespace th = trainhook;

int main() {
  th::Graph graph;
  const th::Dataset points = th::Dataset::from_function(1'000, [](std::int64_t i) {
    const float x = static_cast<float>(i) / 1'000;
    return th::Element{th::Tensor::of<float>({x}), th::Tensor::of<float>({3 * x - 1})};
  });
  auto [x, y] = th::make_iterator(graph, points.shuffle(1'000, 7).repeat().batch(32)).get_next<2>();

  const th::Output prediction = th::dense(x, 1, "line");
  const th::Output loss = th::reduce_mean(th::square(prediction - y)).named("loss");
  const th::Operation train =
      th::AdamOptimizer({.learning_rate = 0.05}).minimize(loss, th::get_or_create_global_step(graph));
  th::summary::scalar("training_loss", loss);

  const auto at_end = std::make_shared<th::FinalOpsHook>(loss);
  auto session = th::monitored_training_session<th::EigenSession>(
      graph, {.checkpoint_dir = "line",
              .save_checkpoint_steps = 100,
              .save_summaries_steps = 50,
              .hooks = {th::StopAtStepHook({.last_step = 500}), th::CheckpointInputPipelineHook(), at_end}});
  th::run_until_stop(session, train);
  fmt::print("loss {:.4f}\n", at_end->final_ops_values()[0].scalar<float>());
}
