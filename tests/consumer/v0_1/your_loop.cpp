// SPDX-License-Identifier: Apache-2.0
/// @file
/// Program your_loop of the README of version 0.1.0.
#include <random>
#include <vector>

#include <fmt/core.h>
#include <trainhook/trainhook.hpp>
namespace th = trainhook;

float gradient_step(std::vector<float>& weights, std::mt19937_64& noise) {  // fits y = 2 x + 1
  const float x = std::uniform_real_distribution<float>(-1, 1)(noise);
  const float error = weights[0] * x + weights[1] - (2 * x + 1);
  weights[0] -= 0.1F * error * x;
  weights[1] -= 0.1F * error;
  return error * error;
}

int main() {
  std::vector<float> weights(2);  // your memory stays yours
  std::mt19937_64 noise(7);       // and your generator too
  float loss = 0;

  th::LoopSession loop;
  loop.variable("weights", weights);         // saved, restored, summarised
  loop.state("noise", noise);                // a standard engine, plain bytes, or a pair of functions
  loop.value("loss", [&] { return loss; });  // what hooks can fetch by name

  auto session = th::monitored_training_session(
      loop, {.checkpoint_dir = "run",
             .save_checkpoint_steps = 100,
             .hooks = {th::StopAtStepHook({.last_step = 1'000}), th::NanTensorHook("loss")}});
  while (!session.should_stop())
    session.run([&] { loss = gradient_step(weights, noise); });  // one step: hooks before, hooks after, global_step + 1
  session.close();                                               // may throw; the destructor never does
  fmt::print("y = {:.2f} x + {:.2f}\n", weights[0], weights[1]);
}
