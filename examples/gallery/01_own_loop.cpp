// SPDX-License-Identifier: Apache-2.0
// 01 A loop of your own. The session saves and restores its variables and its random generator where they are, counts
// the steps and calls hooks. A run in two pieces ends with the same bits as a whole one.
//
//     build/examples/gallery/01_own_loop [directory]

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <trainhook/trainhook.hpp>

namespace th = trainhook;

/// Fits y = 3 x - 1 to noisy samples, up to `last_step`. What a new process needs to go on is in `directory`.
std::vector<double> fit_line(const std::string& directory, std::int64_t last_step) {
  std::vector<double> line = {0, 0};  // slope and height: your memory stays yours
  std::mt19937_64 random(7);          // and your generator, too
  double loss = 0;

  th::LoopSession loop;
  loop.variable("line", line);               // saved, restored, shown in TensorBoard
  loop.state("random", random);              // saved and restored
  loop.value("loss", [&] { return loss; });  // what hooks can fetch by this name

  auto session = th::monitored_training_session(
      loop, {.checkpoint_dir = directory,
             .save_checkpoint_steps = 100,
             .hooks = {th::StopAtStepHook({.last_step = last_step}), th::NanTensorHook("loss")}});
  fmt::print("from step {} ", session.global_step());

  while (!session.should_stop()) {
    session.run([&] {  // one step: hooks before, hooks after, global step + 1
      const double x = std::uniform_real_distribution<double>(-1, 1)(random);
      const double y = 3 * x - 1 + std::normal_distribution<double>(0, 0.1)(random);
      const double error = line[0] * x + line[1] - y;
      line[0] -= 0.05 * error * x;
      line[1] -= 0.05 * error;
      loss = error * error;
    });
  }
  session.close();  // saves the last step; may throw, which the destructor never does

  fmt::print("to step {}: y = {:.3f} x + {:.3f}\n", loop.global_step(), line[0], line[1]);
  return line;
}

int main(int argc, char** argv) {
  const std::string directory = argc > 1 ? argv[1] : "own-loop-run";
  const std::vector<double> whole = fit_line(directory + "/whole", 500);
  fit_line(directory + "/pieces", 170);
  const std::vector<double> pieces = fit_line(directory + "/pieces", 500);
  fmt::print("the same bits: {}\n", whole == pieces ? "yes" : "no");
}
