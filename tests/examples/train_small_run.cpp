// SPDX-License-Identifier: Apache-2.0
/// @file
/// Trains for some steps, or goes on, so that a directory has all that a training leaves: train_small_run <directory>
/// <last step> <rate> <steps between summaries>

#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include <fmt/core.h>

#include <trainhook/hooks/checkpoint_input_pipeline_hook.hpp>
#include <trainhook/data/loop_iterator.hpp>
#include <trainhook/trainhook.hpp>

namespace th = trainhook;

namespace {

void train(const std::string& directory, std::int64_t last_step, double rate, std::int64_t summary_steps) {
  std::vector<float> weights(4);
  std::vector<double> mean(1);
  std::int64_t seen = 0;
  th::LoopSession loop;
  loop.variable("weights", weights);
  loop.variable("mean", mean);
  loop.variable("seen", seen);
  th::Iterator& numbers = th::make_iterator(loop, th::Dataset::range(1'000).repeat());
  const th::Output first = loop.value("first", [&] { return weights[0]; });
  th::summary::scalar("first_weight", first);
  auto session = th::monitored_training_session(
      loop, {.checkpoint_dir = directory,
             .save_checkpoint_steps = 10,
             .save_summaries_steps = summary_steps,
             .save_graph_def = false,
             .hooks = {th::StopAtStepHook({.last_step = last_step}), th::CheckpointInputPipelineHook()}});
  th::Element number;
  while (!session.should_stop()) {
    session.run([&] {
      numbers.get_next(number);
      seen += number[0].scalar<std::int64_t>();
      for (float& weight : weights) weight += static_cast<float>(rate);
      mean[0] += rate;
    });
  }
  session.close();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 5)
      throw th::InvalidArgumentError("usage: train_small_run <directory> <last step> <rate> <steps between summaries>");
    train(argv[1], std::stoll(argv[2]), std::stod(argv[3]), std::stoll(argv[4]));
  } catch (const std::exception& error) {
    fmt::print(stderr, "train_small_run: {}\n", error.what());
    return 1;
  }
}
