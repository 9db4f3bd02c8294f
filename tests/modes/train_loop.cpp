// SPDX-License-Identifier: Apache-2.0
/// @file
/// Trains a few steps in a loop of its own: the same source for each way to compile the library.
#include <random>
#include <vector>

#include <fmt/core.h>

#include <trainhook/hooks/logging_tensor_hook.hpp>
#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/loop/loop_session.hpp>
#include <trainhook/monitored/monitored_training_session.hpp>

namespace th = trainhook;

void train_loop(const char* folder) {
  std::vector<float> weights(3);
  std::mt19937_64 noise(7);
  float loss = 0;
  th::LoopSession loop;
  loop.variable("weights", weights);
  loop.state("noise", noise);
  loop.value("loss", [&] { return loss; });
  auto session = th::monitored_training_session(
      loop, {.checkpoint_dir = folder, .save_checkpoint_steps = 10, .hooks = {th::StopAtStepHook({.last_step = 25})}});
  while (!session.should_stop()) {
    session.run([&] {
      const float x = std::uniform_real_distribution<float>(-1, 1)(noise);
      const float error = weights[0] * x * x + weights[1] * x + weights[2] - (2 * x + 1);
      weights[0] -= 0.1F * error * x * x;
      weights[1] -= 0.1F * error * x;
      weights[2] -= 0.1F * error;
      loss = error * error;
    });
  }
  session.close();
  fmt::print("loop: loss {}, weights {} {} {}\n", loss, weights[0], weights[1], weights[2]);
}
