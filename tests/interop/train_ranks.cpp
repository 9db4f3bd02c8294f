// SPDX-License-Identifier: Apache-2.0
/// @file
/// train_ranks <directory> <ranks> <steps> alone|together|parts: a job of several ranks, each with a generator and a
/// count of its own; its chief saves the last step, or all of them do, or each has two rows of a field. Prints for each
/// rank what it has: weights, count, the generator as text, and the first number of its rows.

#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include <trainhook/checkpoint/restore_rules.hpp>
#include <trainhook/ranks/peers.hpp>
#include <trainhook/ranks/testing/threaded_ranks.hpp>
#include <trainhook/trainhook.hpp>

namespace th = trainhook;

namespace {

std::string train(const std::shared_ptr<th::Collective>& collective, const std::string& directory, std::int64_t steps,
                  std::string_view how) {
  std::vector<double> weights(3);
  std::vector<float> biases = {1, 2};
  std::minstd_rand noise(static_cast<unsigned>(collective->rank() + 1));
  std::int64_t count = 0;
  std::vector<float> rows(6);
  for (std::size_t i = 0; i < rows.size(); ++i)
    rows[i] = static_cast<float>(6 * collective->rank()) + static_cast<float>(i);

  th::LoopSession loop;
  loop.variable("weights", weights);
  loop.variable("biases", biases);
  if (how == "parts") {
    loop.variable(
        "field", rows,
        {.shape = {2, 3}, .part_of = {.shape = {2 * collective->size(), 3}, .offset = {2 * collective->rank(), 0}}});
  }
  loop.state("noise", noise);
  loop.state("count", count);
  const auto saver = std::make_shared<th::Saver>(th::SaverOptions{.sharded = how == "together"});
  // TensorFlow has neither generator nor count.
  const th::RestoreRules restore{.missing = how == "parts" ? th::Missing::KeepInitial : th::Missing::Fail};
  auto session = th::monitored_training_session(
      loop, {.peers = th::ranks::peers(collective),
             .checkpoint_dir = directory,
             .restore = restore,
             .scaffold = std::make_shared<th::Scaffold>(th::ScaffoldOptions{.saver = saver}),
             .hooks = {th::StopAtStepHook({.last_step = steps})}});
  th::run_until_stop(session, [&] {
    session.run([&] {
      for (double& weight : weights) weight += 0.5;
      for (float& number : rows) number += 0.5F;
      count += collective->rank();
      noise();
    });
  });
  std::ostringstream text;
  text << noise;
  return fmt::format("{} {} {} {}", weights[0], count, text.str(), rows[0]);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    fmt::print(stderr, "usage: train_ranks <directory> <ranks> <steps> alone|together|parts\n");
    return 2;
  }
  th::testing::ThreadedRanks job(std::stoi(argv[2]));
  std::vector<std::string> lines(std::stoul(argv[2]));
  for (const std::exception_ptr& error : job.run([&](const std::shared_ptr<th::Collective>& collective) {
         lines[static_cast<std::size_t>(collective->rank())] = train(collective, argv[1], std::stoll(argv[3]), argv[4]);
       })) {
    if (error == nullptr) continue;
    fmt::print(stderr, "train_ranks: {}\n", th::describe(error));
    return 1;
  }
  for (const std::string& line : lines) fmt::print("{}\n", line);
  return 0;
}
