// SPDX-License-Identifier: Apache-2.0
/// @file
/// Two runs with hyperparameters, best checkpoints and logs, for test_runs.py: `a` and `b` below the given directory.

#include <cmath>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <trainhook/hooks/row_logger_hook.hpp>
#include <trainhook/hooks/hparams_hook.hpp>
#include <trainhook/io/path.hpp>
#include <trainhook/trainhook.hpp>

namespace {

namespace th = trainhook;

/// The weight goes past 2, the best value; its loss is infinite after step 2.
void train(const std::string& directory, double rate, bool nesterov) {
  std::vector<float> weight(1);
  th::LoopSession loop;
  loop.variable("weight", weight);
  loop.value("loss", [&] { return std::abs(2.0 - weight[0]); });
  loop.value("ratio", [&] { return 1 / (weight[0] - 2 * rate); });
  loop.value("note", [&] { return fmt::format("a \"{}\", and\nmore", weight[0]); });
  const auto path = [&](const char* name) { return th::join_path(directory, name); };
  auto session =
      th::monitored_training_session(
          loop, {.checkpoint_dir = directory,
                 .hooks = {th::StopAtStepHook({.last_step = 12}),
                           th::HParamsHook({.hparams = {{"rate", rate}, {"optimizer", "sgd"}, {"nesterov", nesterov}},
                                            .output_dir = directory}),
                           th::EvaluationHook(
                               [&] {
                                 return th::Metrics{{"loss", std::abs(2.0 - weight[0])}};
                               },
                               {.every_n_steps = 3, .output_dir = directory}),
                           th::CsvLoggerHook({"loss", "ratio", "note"},
                                             {.path = path("log.csv"), .every_n_steps = 2, .metrics = {"eval/loss"}}),
                           th::JsonLinesHook({"loss", "ratio", "note"},
                                             {.path = path("log.jsonl"), .every_n_steps = 2, .metrics = {"eval/loss"}}),
                           th::BestCheckpointHook({.keep = 2})}});
  th::run_until_stop(session, [&] { session.run([&] { weight[0] += static_cast<float>(rate); }); });
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 2) throw th::InvalidArgumentError("usage: write_runs <directory>");
    train(th::join_path(argv[1], "a"), 0.25, false);
    train(th::join_path(argv[1], "b"), 0.5, true);
  } catch (const std::exception& error) {
    fmt::print(stderr, "write_runs: {}\n", error.what());
    return 1;
  }
}
