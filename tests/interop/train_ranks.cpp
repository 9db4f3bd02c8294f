// SPDX-License-Identifier: Apache-2.0
/// @file
/// train_ranks <directory> <ranks> <steps> alone|together: a job of several ranks, each with a generator and a count of
/// its own; its chief saves the last step, or all of them do. Prints for each rank what it has: weights, count, and the
/// generator as text.

#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <trainhook/ranks/peers.hpp>
#include <trainhook/ranks/testing/threaded_ranks.hpp>
#include <trainhook/trainhook.hpp>

namespace th = trainhook;

namespace {

std::string train(const std::shared_ptr<th::Collective>& collective, const std::string& directory, std::int64_t steps,
                  bool together) {
  std::vector<double> weights(3);
  std::vector<float> biases = {1, 2};
  std::minstd_rand noise(static_cast<unsigned>(collective->rank() + 1));
  std::int64_t count = 0;

  th::LoopSession loop;
  loop.variable("weights", weights);
  loop.variable("biases", biases);
  loop.state("noise", noise);
  loop.state("count", count);
  const auto saver = std::make_shared<th::Saver>(th::SaverOptions{.sharded = together});
  auto session = th::monitored_training_session(
      loop, {.peers = th::ranks::peers(collective),
             .checkpoint_dir = directory,
             .scaffold = std::make_shared<th::Scaffold>(th::ScaffoldOptions{.saver = saver}),
             .hooks = {th::StopAtStepHook({.last_step = steps})}});
  th::run_until_stop(session, [&] {
    session.run([&] {
      for (double& weight : weights) weight += 0.5;
      count += collective->rank();
      noise();
    });
  });
  std::ostringstream text;
  text << noise;
  return fmt::format("{} {} {}", weights[0], count, text.str());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    fmt::print(stderr, "usage: train_ranks <directory> <ranks> <steps> alone|together\n");
    return 2;
  }
  th::testing::ThreadedRanks job(std::stoi(argv[2]));
  std::vector<std::string> lines(std::stoul(argv[2]));
  for (const std::exception_ptr& error : job.run([&](const std::shared_ptr<th::Collective>& collective) {
         lines[static_cast<std::size_t>(collective->rank())] =
             train(collective, argv[1], std::stoll(argv[3]), argv[4] == std::string("together"));
       })) {
    if (error == nullptr) continue;
    fmt::print(stderr, "train_ranks: {}\n", th::describe(error));
    return 1;
  }
  for (const std::string& line : lines) fmt::print("{}\n", line);
  return 0;
}
