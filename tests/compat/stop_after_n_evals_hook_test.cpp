// SPDX-License-Identifier: Apache-2.0
/// @file
/// StopAfterNEvalsHook: what it logs, and what it refuses.
#include <trainhook/compat/stop_after_n_evals_hook.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/data/dataset.hpp>
#include <trainhook/data/iterator_resource.hpp>
#include <trainhook/engine/eigen_session.hpp>
#include <trainhook/model/ops.hpp>
#include <trainhook/monitored/monitored_session.hpp>

#include "training_double.hpp"

namespace trainhook {
namespace {

using Lines = std::vector<std::string>;

/// The lines of its progress.
Lines progress_of(std::optional<std::int64_t> num_evals, bool log_progress, std::int64_t batches = 100) {
  const support::LogLines log;
  Graph graph;
  const Output number = make_iterator(graph, Dataset::range(batches)).get_next()[0];
  const Variable step = make_variable("eval_step", constant(graph, Tensor(std::int64_t{0})), {.trainable = false});
  const Output counted = with_dependencies({number.operation()}, assign_add(step, 1));
  graph.add_to_collection(graph_keys::kEvalStep, counted);
  MonitoredSession<EigenSession> session(graph, {.hooks = {StopAfterNEvalsHook(num_evals, log_progress)}});
  run_until_stop(session, counted.operation());
  Lines lines;
  for (const std::string& line : log.lines)
    if (line.find("Evaluation [") != std::string::npos) lines.push_back(line.substr(line.find("Evaluation [")));
  return lines;
}

TEST(StopAfterNEvalsHook, LogsEachBatchOfFew) {
  EXPECT_EQ(progress_of(3, true), (Lines{"Evaluation [1/3]", "Evaluation [2/3]", "Evaluation [3/3]"}));
  EXPECT_EQ(progress_of(std::nullopt, true, 2), (Lines{"Evaluation [1]", "Evaluation [2]"}));
  EXPECT_EQ(progress_of(3, false), Lines{});
}

TEST(StopAfterNEvalsHook, LogsTenthsOfManyAndTheLast) {
  const Lines lines = progress_of(25, true);
  ASSERT_EQ(lines.size(), 13U);
  EXPECT_EQ(lines.front(), "Evaluation [2/25]");
  EXPECT_EQ(lines[11], "Evaluation [24/25]");
  EXPECT_EQ(lines.back(), "Evaluation [25/25]");
}

TEST(StopAfterNEvalsHook, RefusesWhatItCannotCount) {
  EXPECT_THROW(StopAfterNEvalsHook(0), InvalidArgumentError);
  Graph graph;
  StopAfterNEvalsHook hook(1);
  EXPECT_THROW(hook.begin(graph), FailedPreconditionError);
}

}  // namespace
}  // namespace trainhook
