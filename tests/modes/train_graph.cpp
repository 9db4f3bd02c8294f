// SPDX-License-Identifier: Apache-2.0
/// @file
/// Trains a few steps of a small network with EigenSession: the same source for each way to compile the library.
#include <memory>

#include <fmt/core.h>

#include <trainhook/engine.hpp>
#include <trainhook/trainhook.hpp>

namespace th = trainhook;

void train_loop(const char* folder);

void train_graph(const char* folder) {
  th::Graph graph;
  const th::Dataset points = th::Dataset::from_function(200, [](std::int64_t i) {
    const float x = static_cast<float>(i) / 200;
    return th::Element{th::Tensor::of<float>({x, x * x}), th::Tensor::of<float>({3 * x - 1})};
  });
  auto [x, y] = th::make_iterator(graph, points.shuffle(200, 7).repeat().batch(16)).get_next<2>();
  const th::Output hidden = th::relu(th::dense(x, 8, "hidden"));
  const th::Output loss = th::reduce_mean(th::square(th::dense(hidden, 1, "out") - y)).named("loss");
  const th::Operation train =
      th::AdamOptimizer({.learning_rate = 0.05}).minimize(loss, th::get_or_create_global_step(graph));
  const auto at_end = std::make_shared<th::FinalOpsHook>(loss);
  auto session = th::monitored_training_session<th::EigenSession>(
      graph, {.checkpoint_dir = folder,
              .save_checkpoint_steps = 10,
              .hooks = {th::StopAtStepHook({.last_step = 25}), at_end}});
  th::run_until_stop(session, train);
  fmt::print("graph: loss {}\n", at_end->final_ops_values()[0].scalar<float>());
}

int main() {
  train_loop("loop");
  train_graph("graph");
}
