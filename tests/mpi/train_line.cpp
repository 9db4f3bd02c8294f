// SPDX-License-Identifier: Apache-2.0
/// @file
/// A loop in plain C++ that several processes run together, for kill.sh.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include <trainhook/mpi/all_reduce.hpp>
#include <trainhook/mpi/collective.hpp>
#include <trainhook/mpi/runtime.hpp>
#include <trainhook/trainhook.hpp>

namespace th = trainhook;

namespace {

/// One step of least squares on a batch of noisy samples of y = 3 x - 1, of which each rank takes its part. Every rank
/// draws the whole batch, so that the samples do not depend on the number of ranks.
double gradient_step(std::vector<double>& weights, std::vector<double>& momentum, std::mt19937_64& noise,
                     const th::mpi::Communicator& world) {
  constexpr int kBatch = 64;
  std::vector<double> sums(3);  // of both gradients and the loss
  for (int i = 0; i < kBatch; ++i) {
    const double x = std::uniform_real_distribution<double>(-1, 1)(noise);
    const double y = 3 * x - 1 + std::normal_distribution<double>(0, 0.1)(noise);
    if (i % world.size() != world.rank()) continue;
    const double error = weights[0] * x + weights[1] - y;
    sums[0] += error * x;
    sums[1] += error;
    sums[2] += error * error;
  }
  th::mpi::all_reduce(sums, th::mpi::Reduction::Sum, world);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    momentum[i] = 0.5 * momentum[i] + sums[i] / kBatch;
    weights[i] -= 0.05 * momentum[i];
  }
  return sums[2] / kBatch;
}

void train(const th::mpi::Communicator& world, const std::string& directory, std::int64_t steps,
           std::int64_t save_steps, bool together) {
  std::vector<double> weights(2);
  std::vector<double> momentum(2);
  std::mt19937_64 noise(7);
  double loss = 0;

  th::LoopSession loop;
  loop.variable("weights", weights);
  loop.variable("momentum", momentum);
  loop.state("noise", noise);
  const th::Output watched = loop.value("loss", [&] { return loss; });
  th::summary::scalar("squared_error", watched);

  const th::CheckpointSaverOptions saves{.checkpoint_dir = directory,
                                         .save_steps = save_steps,
                                         .saver = std::make_shared<th::Saver>(th::SaverOptions{.sharded = together})};
  th::HookList chiefs;
  if (world.rank() == 0 && together) chiefs = {th::AsyncCheckpointSaverHook(saves)};
  if (world.rank() == 0 && !together) chiefs = {th::CheckpointSaverHook(saves)};
  auto session = th::monitored_training_session(
      loop, {.peers = th::mpi::peers(world),
             .checkpoint_dir = directory,
             .hooks = {th::StopAtStepHook({.last_step = steps}), th::NanTensorHook(watched), th::SignalHook()},
             .chief_only_hooks = chiefs});
  const std::int64_t first = session.global_step();
  th::run_until_stop(session, [&] { session.run([&] { loss = gradient_step(weights, momentum, noise, world); }); });

  if (world.rank() != 0) return;
  fmt::print("{} ranks, steps {} to {}: {}\n", world.size(), first, session.global_step(), session.why_it_ended());
  fmt::print("y = {:.3f} x + {:.3f}\n", weights[0], weights[1]);
  fmt::print("weights {:016x} {:016x}\n", std::bit_cast<std::uint64_t>(weights[0]),
             std::bit_cast<std::uint64_t>(weights[1]));
}

}  // namespace

int main(int argc, char** argv) {
  std::string directory = "line-run";
  std::int64_t steps = 1000;
  std::int64_t save_steps = 100;
  bool together = false;
  CLI::App app("Fits a line with all processes of an MPI job. --dir must be on a disk that they share.");
  app.add_option("--dir", directory, "checkpoints and TensorBoard events")->capture_default_str();
  app.add_option("--steps", steps, "train up to this step")->capture_default_str();
  app.add_option("--save-steps", save_steps, "steps between checkpoints")->capture_default_str();
  app.add_flag("--together", together, "all processes write a part of each checkpoint, in the background");
  try {
    const th::mpi::Runtime mpi(argc, argv);
    app.parse(argc, argv);
    train(mpi.world(), directory, steps, save_steps, together);
  } catch (const CLI::Success& help) { return app.exit(help); } catch (...) {
    fmt::print(stderr, "train_line: {}\n", th::describe(std::current_exception()));
    return 1;
  }
  return 0;
}
