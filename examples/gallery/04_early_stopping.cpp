// SPDX-License-Identifier: Apache-2.0
// 04 Evaluation and early stopping. A network with more weights than samples learns them by heart. It is measured on
// samples that it is not trained on; the run stops when that gets no better, and the best checkpoints are kept.
//
//     build/examples/gallery/04_early_stopping [directory]

#include <cmath>
#include <cstdint>
#include <string>

#include <fmt/core.h>
#include <trainhook/engine.hpp>
#include <trainhook/trainhook.hpp>

namespace th = trainhook;

/// Samples of a sine, with an error that depends on where they are.
th::Dataset samples(std::int64_t count, float offset) {
  return th::Dataset::from_function(count, [count, offset](std::int64_t i) {
    const float x = 2 * (static_cast<float>(i) + offset) / static_cast<float>(count) - 1;
    const float y = std::sin(4 * x) + 0.4F * std::sin(97 * x);
    return th::Element{th::Tensor::of<float>({x}), th::Tensor::of<float>({y})};
  });
}

int main(int argc, char** argv) {
  const std::string directory = argc > 1 ? argv[1] : "early-stopping-run";
  const th::Dataset training = samples(12, 0), validation = samples(40, 0.5F);

  th::Graph graph;
  graph.set_random_seed(1);
  const auto [next_x, next_y] = th::make_iterator(graph, training.repeat().batch(12)).get_next<2>();
  const th::Output x = th::placeholder_with_default(next_x, {th::kUnknownDim, 1}, "x");  // fed by the evaluation
  const th::Output y = th::placeholder_with_default(next_y, {th::kUnknownDim, 1}, "y");
  const th::Output hidden = th::tanh(th::dense(x, 64, "hidden"));
  const th::Output loss = th::reduce_mean(th::squared_difference(th::dense(hidden, 1, "curve"), y));
  const th::Operation train =
      th::AdamOptimizer({.learning_rate = 0.01}).minimize(loss, th::get_or_create_global_step(graph));
  th::summary::scalar("loss", loss);  // the tag of the evaluation, too: two curves in one chart of TensorBoard

  // Shared, so that they can be asked afterwards.
  auto stopping = th::make_hook<th::EarlyStoppingHook>({.metric = "eval/loss", .patience = 4});
  auto best = th::make_hook<th::BestCheckpointHook>({.metric = "eval/loss", .keep = 2});
  auto session = th::monitored_training_session<th::EigenSession>(
      graph, {.checkpoint_dir = directory,
              .save_checkpoint_steps = 100,
              .hooks = {th::StopAtStepHook({.last_step = 10'000}),
                        th::EvaluationHook({{"loss", loss}}, validation.batch(20), {x, y},
                                           {.every_n_steps = 50, .output_dir = directory}),
                        stopping, best}});
  th::run_until_stop(session, train);

  if (stopping->has_stopped()) fmt::print("stopped: not better than at step {}\n", stopping->best_step());
  for (const th::BestCheckpoint& each : best->best()) fmt::print("loss {:.3f} in {}\n", each.value, each.prefix);
}
