// SPDX-License-Identifier: Apache-2.0
// 03 A graph. The model is described once, gradients and the training operation come from the optimizer, and the
// engine on Eigen runs it. A run returns nothing for an operation, a tensor for an output, and an array for a list.
//
//     build/examples/gallery/03_graph [directory]

#include <cstdint>
#include <string>

#include <fmt/core.h>
#include <trainhook/engine.hpp>
#include <trainhook/trainhook.hpp>

namespace th = trainhook;

int main(int argc, char** argv) {
  const std::string directory = argc > 1 ? argv[1] : "graph-run";

  // A small network learns "exclusive or". Its four samples are part of the graph, and can be replaced by feeds.
  th::Graph graph;
  graph.set_random_seed(1);
  const th::Output samples = th::constant(graph, th::Tensor::of<float>({0, 0, 0, 1, 1, 0, 1, 1}, {4, 2}));
  const th::Output x = th::placeholder_with_default(samples, {th::kUnknownDim, 2}, "x");
  const th::Output answers = th::constant(graph, th::Tensor::of<float>({0, 1, 1, 0}, {4, 1}));

  const th::Output hidden = th::tanh(th::dense(x, 8, "hidden"));
  const th::Output logits = th::dense(hidden, 1, "logits");
  const th::Output answer = th::sigmoid(logits);
  const th::Output loss = th::reduce_mean(th::sigmoid_cross_entropy_with_logits(answers, logits)).named("loss");

  const th::Variable step = th::get_or_create_global_step(graph);
  const th::Operation train = th::AdamOptimizer({.learning_rate = 0.05}).minimize(loss, step);
  th::summary::scalar("training_loss", loss);  // for TensorBoard: tensorboard --logdir graph-run
  fmt::print("{}", th::model_summary(graph));

  auto session = th::monitored_training_session<th::EigenSession>(
      graph, {.checkpoint_dir = directory,
              .save_checkpoint_steps = 100,
              .save_summaries_steps = 10,
              .hooks = {th::StopAtStepHook({.last_step = 300}), th::NanTensorHook(loss)}});
  while (!session.should_stop()) {
    const auto [_, done, value] = session.run({train, step, loss});  // one run: all of it is from the same step
    if (const auto n = done.scalar<std::int64_t>(); n % 100 == 0)
      fmt::print("after {} steps: loss {:.2f}\n", n, value.scalar<float>());
  }

  // The engine's own session calls no hooks and counts no steps: for looking at the model.
  const th::Tensor fed = th::Tensor::of<float>({1, 0, 1, 1}, {2, 2});
  const th::Tensor seen = session.raw_session().run(answer, {{x, fed}});
  fmt::print("1 xor 0 = {:.0f}\n1 xor 1 = {:.0f}\n", seen.data<float>()[0], seen.data<float>()[1]);
  session.close();
}
