// SPDX-License-Identifier: Apache-2.0
// 06 A step function. One step of training makes several runs: the gradients of four small batches are added up
// without hooks, then applied in one run that all hooks see. In this way a batch can be larger than the memory.
//
//     build/examples/gallery/06_step_function [directory]

#include <cstdint>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <trainhook/engine.hpp>
#include <trainhook/trainhook.hpp>

namespace th = trainhook;

int main(int argc, char** argv) {
  const std::string directory = argc > 1 ? argv[1] : "step-function-run";
  constexpr int kParts = 4;

  th::Graph graph;
  const th::Dataset points = th::Dataset::from_function(320, [](std::int64_t i) {
    const float x = static_cast<float>(i % 40) / 20 - 1;
    return th::Element{th::Tensor::of<float>({x}), th::Tensor::of<float>({3 * x - 1})};
  });
  const auto [x, y] = th::make_iterator(graph, points.shuffle(320, 7).repeat(10).batch(8)).get_next<2>();
  const th::Output loss = th::reduce_mean(th::squared_difference(th::dense(x, 1, "line"), y)).named("loss");

  th::GradientDescentOptimizer optimizer({.learning_rate = 0.05});
  std::vector<th::Operation> add, clear;
  std::vector<th::GradientAndVariable> sums;
  for (const auto& [gradient, variable] : optimizer.compute_gradients(loss)) {
    const th::Variable sum =
        th::make_variable(variable.name() + "/sum", th::zeros_like(variable.initial_value), {.trainable = false});
    add.push_back(th::assign_add(sum, gradient));
    clear.push_back(th::assign(sum, th::zeros_like(sum)));
    sums.push_back({sum / static_cast<float>(kParts), variable});
  }
  const th::Operation accumulate = th::group(graph, add);
  const th::Operation restart = th::group(graph, clear);
  const th::Operation apply = optimizer.apply_gradients(sums, th::get_or_create_global_step(graph));

  auto session = th::monitored_training_session<th::EigenSession>(
      graph, {.checkpoint_dir = directory, .save_checkpoint_steps = 20, .hooks = {th::CheckpointInputPipelineHook()}});
  th::run_until_stop(session, [&] {
    const float mean = session.run_step_fn([&](th::StepContext<th::EigenSession>& step) {
      float sum = 0;
      step.session().run(restart);  // the engine's session: no hooks, no step
      for (int part = 0; part < kParts; ++part) {
        const auto [_, value] = step.session().run({accumulate, loss});
        sum += value.scalar<float>();
      }
      step.run_with_hooks(apply);  // hooks before, hooks after, global step + 1
      return sum / kParts;
    });
    if (session.global_step() % 25 == 0) fmt::print("step {}: loss {:.4f}\n", session.global_step(), mean);
  });
  fmt::print("{}\n", session.why_it_ended());
}
