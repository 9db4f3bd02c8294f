// SPDX-License-Identifier: Apache-2.0
// A loop that you already have, in plain C++ with its own memory: saved, restored, watched. Kill it and start it again.

#include <bit>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <random>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include <trainhook/trainhook.hpp>

namespace th = trainhook;

namespace {

/// One step of least squares on a noisy sample of y = 3 x - 1. The distributions are local: one that lives on may keep
/// a number for later, which would be state to save as well.
float gradient_step(std::vector<float>& weights, std::mt19937_64& noise) {
  const float x = std::uniform_real_distribution<float>(-1, 1)(noise);
  const float y = 3 * x - 1 + std::normal_distribution<float>(0, 0.1F)(noise);
  const float error = weights[0] * x + weights[1] - y;
  weights[0] -= 0.05F * error * x;
  weights[1] -= 0.05F * error;
  return error * error;
}

void train(const std::string& directory, std::int64_t steps) {
  std::vector<float> weights(2);  // your memory stays yours
  std::mt19937_64 noise(7);       // and your generator too
  float loss = 0;

  th::LoopSession loop;
  loop.variable("weights", weights);
  loop.state("noise", noise);
  const th::Output watched = loop.value("loss", [&] { return loss; });
  th::summary::scalar("squared_error", watched);

  auto session = th::monitored_training_session(
      loop, {.checkpoint_dir = directory,
             .save_checkpoint_steps = 100,
             .hooks = {th::StopAtStepHook({.last_step = steps}), th::NanTensorHook(watched)}});
  const char* beginning = session.should_stop() ? "finished" : loop.global_step() > 0 ? "going on" : "starting";
  fmt::print("{}: {} at step {} of {}\n", directory, beginning, loop.global_step(), steps);
  std::fflush(stdout);

  while (!session.should_stop()) session.run([&] { loss = gradient_step(weights, noise); });
  session.close();

  fmt::print("y = {:.3f} x + {:.3f}\n", weights[0], weights[1]);
  fmt::print("weights {:08x} {:08x}\n", std::bit_cast<std::uint32_t>(weights[0]),
             std::bit_cast<std::uint32_t>(weights[1]));
}

}  // namespace

int main(int argc, char** argv) {
  std::string directory = "custom-loop-run";
  std::int64_t steps = 1000;
  CLI::App app(
      "Fits a line by noisy gradient steps. Kill it at any moment and start it again: it ends with the same bits.");
  app.add_option("--dir", directory, "checkpoints and TensorBoard events")->capture_default_str();
  app.add_option("--steps", steps, "train up to this step")->capture_default_str();
  try {
    app.parse(argc, argv);
    train(directory, steps);
  } catch (const CLI::Success& help) { return app.exit(help); } catch (...) {
    fmt::print(stderr, "custom_loop: {}\n", th::describe(std::current_exception()));
    return 1;
  }
  return 0;
}
