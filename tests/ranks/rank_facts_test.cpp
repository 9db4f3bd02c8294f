// SPDX-License-Identifier: Apache-2.0
/// @file
/// What ranks must have in common.
#include <trainhook/ranks/rank_facts.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/events/file_writer.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/hooks/async_checkpoint_saver_hook.hpp>
#include <trainhook/hooks/best_checkpoint_hook.hpp>
#include <trainhook/hooks/checkpoint_input_pipeline_hook.hpp>
#include <trainhook/hooks/checkpoint_saver_hook.hpp>
#include <trainhook/hooks/row_logger_hook.hpp>
#include <trainhook/hooks/evaluation_hook.hpp>
#include <trainhook/hooks/hparams_hook.hpp>
#include <trainhook/hooks/learning_rate_warm_up_hook.hpp>
#include <trainhook/engine/profiler_hook.hpp>
#include <trainhook/hooks/step_counter_hook.hpp>
#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/hooks/summary_saver_hook.hpp>

namespace trainhook::detail {
namespace {

TEST(Facts, AboutAProgramNameItsGraphAndItsLastStep) {
  Graph graph;
  graph.set_random_seed(5);
  const Facts facts = facts_about(graph, in_phases({StopAtStepHook({.last_step = 9})}));
  ASSERT_EQ(facts.size(), 5U);
  EXPECT_EQ(facts[0].first, "the digest of the program's file");
  EXPECT_NE(facts[0].second, "00000000");
  EXPECT_EQ(facts[1].first, "the library's compiler");
  EXPECT_NE(facts[1].second, "");
  EXPECT_EQ(facts[2].first, "the digest of the graph");
  EXPECT_EQ(facts[3], (std::pair<std::string, std::string>("the graph's random seed", "5")));
  EXPECT_EQ(facts[4], (std::pair<std::string, std::string>("StopAtStepHook's last_step", "9")));
}

TEST(Facts, AboutAProgramNameTheInputThatIsSaved) {
  const Graph graph;
  const Facts facts = facts_about(graph, in_phases({CheckpointInputPipelineHook({.checkpoint_basename = "data"})}));
  ASSERT_EQ(facts.size(), 5U);
  EXPECT_EQ(facts[4],
            (std::pair<std::string, std::string>("CheckpointInputPipelineHook's checkpoint_basename (give the hook to "
                                                 "all ranks: hooks, not chief_only_hooks)",
                                                 "data")));
}

TEST(Facts, AreTheSameAfterTheirWay) {
  const Facts facts = {{"a", "1"}, {"b", ""}, {"", "c"}};
  EXPECT_EQ(facts_in(fact_bytes(facts)), facts);
  EXPECT_EQ(facts_in(""), Facts());
  EXPECT_EQ(facts_in("cut off"), (Facts{{"cut off", ""}}));  // of another build
}

TEST(Facts, ThatDifferAreNamedFromBothSides) {
  EXPECT_EQ(fact_differences({{"a", "1"}, {"b", "2"}}, {{"a", "1"}, {"b", "2"}}), "");
  EXPECT_EQ(fact_differences({{"a", "1"}, {"b", "2"}}, {{"a", "3"}, {"c", "4"}}),
            "a is '1' and not '3', b is '2' and not there, c is not there and not '4'");
}

TEST(Outputs, AreWhereHooksWrite) {
  const Hooks hooks =
      in_phases({CsvLoggerHook({}, {.path = "log.csv", .metrics = {"eval/loss"}}),
                 StepCounterHook({.output_dir = "run"}), StepCounterHook(), StopAtStepHook({.last_step = 9})});
  EXPECT_EQ(outputs_of(hooks), (Facts{{"log.csv", "CsvLoggerHook"}, {"run", "StepCounterHook"}}));
}

TEST(Outputs, OfEveryStockHookAreKnown) {
  const Hooks hooks = in_phases(
      {JsonLinesHook({}, {.path = "1", .metrics = {"eval/loss"}}),
       SummarySaverHook({.save_steps = 1, .output_dir = "2", .summary_op = "s:0"}),
       SummarySaverHook({.save_steps = 1, .summary_writer = std::make_shared<FileWriter>("3"), .summary_op = "s:0"}),
       StepCounterHook({.summary_writer = std::make_shared<FileWriter>("4")}),
       ProfilerHook({.save_steps = 1, .output_dir = "5"}), ProfilerHook({.save_steps = 1}),
       HParamsHook({.hparams = {{"rate", 0.1}}, .output_dir = "7"}),
       BestCheckpointHook({.metric = "eval/loss", .directory = "8"}), BestCheckpointHook(),
       CheckpointSaverHook({.checkpoint_dir = "10", .save_steps = 1}),
       AsyncCheckpointSaverHook({.checkpoint_dir = "11", .save_steps = 1})});
  std::vector<std::string> paths;
  for (const auto& [path, hook] : outputs_of(hooks)) paths.push_back(path);
  EXPECT_EQ(paths, (std::vector<std::string>{"1", "2", "3", "4", "5", ".", "7", "8", "best", "10", "11"}));
}

TEST(Outputs, OfSeveralRanksAreNamed) {
  const Facts log = {{"log.csv", "CsvLoggerHook"}};
  const Facts own = {{"log-1.csv", "CsvLoggerHook"}, {"run", "StepCounterHook"}};
  EXPECT_EQ(shared_outputs({log, own, {}}), "");
  EXPECT_EQ(shared_outputs({{{"run", "A"}, {"run", "B"}}, {}}), "") << "one rank may write twice";
  EXPECT_EQ(shared_outputs({log, own, log, own}),
            "log-1.csv (CsvLoggerHook on ranks 1 and 3), log.csv (CsvLoggerHook on ranks 0 and 2), run "
            "(StepCounterHook on ranks 1 and 3)");
}

TEST(Facts, AboutAProgramListTheHooksThatChangeVariables) {
  class Decay final : public SessionRunHook {
    [[nodiscard]] bool writes_variables() const override { return true; }
  };
  const std::string name =
      "the list of hooks that change variables (give them to all ranks: hooks, not chief_only_hooks)";
  const Facts facts = facts_about(Graph(), in_phases({LearningRateWarmUpHook({.steps = 5}), Decay()}));
  ASSERT_EQ(facts.size(), 5U);
  EXPECT_EQ(facts[4], (std::pair<std::string, std::string>(name, "LearningRateWarmUpHook, Decay")));
}

TEST(Evaluations, OfAllRanksAreSharedAndThoseOfTheChiefAreNot) {
  const auto make = [](const std::string& name) {
    return make_hook<EvaluationHook>([] { return Metrics{}; },
                                     EvaluationHook::Options{.every_n_steps = 5, .name = name});
  };
  const Hooks hooks = {make("eval"), make("own")};
  const Facts all = evaluations_of(hooks);
  EXPECT_EQ(all, (Facts{{"eval", "every_n_steps = 5, at_end = true"}, {"own", "every_n_steps = 5, at_end = true"}}));
  using Those = std::vector<const SessionRunHook*>;
  EXPECT_EQ(evaluations_of_all({all, {all[0]}, {all[0]}}), (std::vector<std::string>{"eval"}));
  EXPECT_EQ(evaluations_of_one_rank(hooks, {"eval"}), (Those{hooks[1].get()}));
  const auto refuse = [&](const std::vector<Facts>& of_ranks) {
    EXPECT_THROW(static_cast<void>(evaluations_of_all(of_ranks)), InvalidArgumentError);
  };
  refuse({all, {all[0]}, {}});                                         // on some ranks
  refuse({{all[0]}, all});                                             // on another rank alone
  refuse({{all[0], all[0]}, {all[0]}});                                // two of one name
  refuse({{all[0]}, {{"eval", "every_n_steps = 6, at_end = true"}}});  // at other steps
  refuse({{{"eval", "every_n_secs"}}, {{"eval", "every_n_secs"}}});    // by two clocks
  EXPECT_TRUE(evaluations_of_all({{{"eval", "every_n_secs"}}, {}}).empty());
}

}  // namespace
}  // namespace trainhook::detail
