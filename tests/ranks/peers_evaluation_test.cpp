// SPDX-License-Identifier: Apache-2.0
/// @file
/// Evaluation in a job of several ranks: measured on all, written once, and the same for the hooks of all.
#include <trainhook/ranks/peers.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/hooks/evaluation_hook.hpp>
#include <trainhook/hooks/lambda_hook.hpp>
#include <trainhook/hooks/reduce_learning_rate_on_plateau_hook.hpp>
#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/loop/loop_session.hpp>
#include <trainhook/monitored/monitored_training_session.hpp>
#include <trainhook/ranks/testing/threaded_ranks.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/memory_file_system.hpp>

namespace trainhook {
namespace {

using namespace std::chrono_literals;
using Options = MonitoredTrainingSessionOptions;
using Strings = std::vector<std::string>;

/// What one rank ended with.
struct Seen {
  double rate = 0;
  std::vector<std::int64_t> evaluated{};  // steps
  Metrics metrics{};
  std::string error{};
};

class RanksEvaluationTest : public ::testing::Test {
 protected:
  /// In a step of a rank.
  using Step = std::function<void(int rank, std::int64_t step)>;

  static EvaluationHook::Options every(std::int64_t steps) { return {.every_n_steps = steps, .output_dir = "run"}; }

  /// Three ranks train until step 12. Each measures its own loss, which never improves.
  std::vector<Seen> train(const EvaluationHook::Options& evaluation, const Step& in_evaluation = {}) {
    std::vector<Seen> seen(3);
    testing::ThreadedRanks ranks(3);
    ranks.run([&](const std::shared_ptr<Collective>& collective) {
      const int rank = collective->rank();
      Seen& mine = seen[static_cast<std::size_t>(rank)];
      std::int64_t step = 0;
      mine.rate = 1;
      LoopSession loop;
      loop.variable("learning_rate", mine.rate);
      const auto evaluate = [&] {
        mine.evaluated.push_back(step);
        if (in_evaluation) in_evaluation(rank, step);
        return Metrics{{"loss", static_cast<double>(rank == 0 ? step : -step)}};
      };
      const auto hook = make_hook<EvaluationHook>(evaluate, evaluation);
      Options options{
          .peers = ranks::peers(collective, {.max_wait_secs = 60s}), .checkpoint_dir = "run", .file_system = &disk};
      options.hooks = {StopAtStepHook({.last_step = 12}), hook,
                       ReduceLearningRateOnPlateauHook({.factor = 0.5, .patience = 1})};
      options.save_checkpoint_steps = 4;
      try {
        auto session = monitored_training_session(loop, options);
        run_until_stop(session, [&] { session.run([&] { ++step; }); });
      } catch (...) { mine.error = describe(std::current_exception()); }
      mine.metrics = hook->metrics();
    });
    return seen;
  }

  testing::LogLines log;
  testing::MemoryFileSystem disk;
};

TEST_F(RanksEvaluationTest, IsMeasuredOnAllAndEachDecidesByTheMetricsOfTheChief) {
  for (const Seen& rank : train(every(5))) {
    EXPECT_EQ(rank.error, "");
    EXPECT_EQ(rank.evaluated, (std::vector<std::int64_t>{5, 10, 12}));
    ASSERT_EQ(rank.metrics.size(), 1U);
    EXPECT_EQ(rank.metrics[0].value, 12);
    EXPECT_EQ(rank.rate, 0.5);  // -5 and -10 would have been improvements
  }
}

TEST_F(RanksEvaluationTest, IsWrittenAndLoggedOnce) {
  train(every(5));
  EXPECT_EQ(log.count("eval at step 5: loss = 5"), 1U);
  Strings files;
  for (const std::string& path : disk.files())
    if (path.starts_with("run/eval/")) files.push_back(path);
  EXPECT_EQ(files.size(), 1U);
}

TEST_F(RanksEvaluationTest, AtTheEndOnly) {
  for (const Seen& rank : train({})) {
    EXPECT_EQ(rank.error, "");
    EXPECT_EQ(rank.evaluated, std::vector<std::int64_t>{12});
  }
}

TEST_F(RanksEvaluationTest, ThatFailsOnOneRankEndsAllByItsError) {
  for (const std::int64_t failing : {5, 12}) {  // in a step, and at the end
    const std::vector<Seen> seen = train(every(5), [failing](int rank, std::int64_t step) {
      if (rank == 1 && step == failing) throw DataLossError("no test data");
    });
    EXPECT_EQ(seen[0].error, "DataLoss: rank 1 has failed: the function of evaluation 'eval' threw: no test data");
    EXPECT_EQ(seen[1].error, "DataLoss: the function of evaluation 'eval' threw: no test data");
    EXPECT_EQ(seen[2].error, "DataLoss: rank 1 has failed: the function of evaluation 'eval' threw: no test data");
    for (const std::string& path : disk.files()) disk.remove_file(path);
  }
}

TEST_F(RanksEvaluationTest, ByTheClockIsRefusedForAll) {
  for (const Seen& rank : train({.every_n_secs = 10s})) {
    EXPECT_EQ(rank.error.find("InvalidArgument: EvaluationHook 'eval': give it to rank 0 alone (chief_only_hooks), or"),
              0U)
        << rank.error;
  }
}

TEST_F(RanksEvaluationTest, NewRanksMeasureWhenTheOthersDo) {
  std::vector<std::vector<std::int64_t>> evaluated(3);
  const auto train_until = [&](int size, std::int64_t last_step) {
    testing::ThreadedRanks ranks(size);
    return ranks.run([&](const std::shared_ptr<Collective>& collective) {
      const auto rank = static_cast<std::size_t>(collective->rank());
      float weight = 0;
      LoopSession loop;
      loop.variable("weight", weight);
      const auto nothing = [] { return Metrics{{"loss", 1}}; };
      const auto evaluate = [&] {
        evaluated[rank].push_back(loop.global_step());
        return Metrics{{"loss", 1}};
      };
      Options options{
          .peers = ranks::peers(collective, {.max_wait_secs = 60s}), .checkpoint_dir = "run", .file_system = &disk};
      options.save_checkpoint_steps = 100;
      if (rank == 0)
        options.chief_only_hooks = EvaluationHook(nothing, {.every_n_steps = 10, .at_end = false, .name = "test"});
      options.hooks = {StopAtStepHook({.last_step = last_step}),
                       EvaluationHook(evaluate, {.every_n_steps = 5, .at_end = false})};
      auto session = monitored_training_session(loop, options);
      run_until_stop(session, [&] { session.run([] {}); });
    });
  };
  EXPECT_EQ(train_until(2, 18), std::vector<std::exception_ptr>(2));
  EXPECT_EQ(train_until(3, 22), std::vector<std::exception_ptr>(3));
  EXPECT_EQ(evaluated[0], (std::vector<std::int64_t>{5, 10, 15, 20}));
  EXPECT_EQ(evaluated[2], std::vector<std::int64_t>{20});
}

TEST_F(RanksEvaluationTest, DoesNotWaitForARankThatHasEnded) {
  std::vector<std::vector<std::int64_t>> evaluated(3);
  testing::ThreadedRanks ranks(3);
  const auto errors = ranks.run([&](const std::shared_ptr<Collective>& collective) {
    const auto rank = static_cast<std::size_t>(collective->rank());
    std::int64_t step = 0;
    float weight = 0;
    LoopSession loop;
    loop.variable("weight", weight);
    const auto evaluate = [&] {
      evaluated[rank].push_back(step);
      return Metrics{{"loss", 1.0}};
    };
    Options options{.peers = ranks::peers(collective, {.max_wait_secs = 60s})};
    options.hooks = {EvaluationHook(evaluate, EvaluationHook::Options{.every_n_steps = 5})};
    auto session = monitored_training_session(loop, options);
    while (!session.should_stop() && !(rank == 1 && step == 4)) session.run([&] { ++step; });
    session.close();
  });
  for (const std::exception_ptr& error : errors) EXPECT_EQ(error == nullptr ? "" : describe(error), "");
  EXPECT_EQ(evaluated, (std::vector<std::vector<std::int64_t>>{{5}, {}, {5}}));
  EXPECT_EQ(ranks.why_it_was_ended(), "");
}

TEST_F(RanksEvaluationTest, OfTheChiefAloneIsOnlyThere) {
  int evaluations = 0;
  testing::ThreadedRanks ranks(2);
  const auto errors = ranks.run([&](const std::shared_ptr<Collective>& collective) {
    float weight = 0;
    LoopSession loop;
    loop.variable("weight", weight);
    const auto evaluate = [&evaluations] { return Metrics{{"loss", static_cast<double>(++evaluations)}}; };
    Options options{.peers = ranks::peers(collective, {.max_wait_secs = 60s})};
    options.hooks = {StopAtStepHook({.last_step = 4})};
    if (collective->rank() == 0)
      options.chief_only_hooks = {EvaluationHook(evaluate, EvaluationHook::Options{.every_n_steps = 2})};
    auto session = monitored_training_session(loop, options);
    run_until_stop(session, [&] { session.run([&] { ++weight; }); });
  });
  for (const std::exception_ptr& error : errors) EXPECT_EQ(error == nullptr ? "" : describe(error), "");
  EXPECT_EQ(evaluations, 2);
}

TEST_F(RanksEvaluationTest, IsWhatAHookOfTheUserCanDoToo) {
  std::vector<std::string> got(2);
  testing::ThreadedRanks ranks(2);
  class Asks final : public SessionRunHook {
   public:
    explicit Asks(std::string& got, int rank) : got_(&got), rank_(rank) {}
    void end(SessionRef) override {
      *got_ = services().peers().same_for_all([this] { return std::to_string(rank_); });
      EXPECT_EQ(services().peers().is_chief(), rank_ == 0);
    }

   private:
    std::string* got_;
    int rank_;
  };
  ranks.run([&](const std::shared_ptr<Collective>& collective) {
    float weight = 0;
    LoopSession loop;
    loop.variable("weight", weight);
    Options options{.peers = ranks::peers(collective)};
    options.hooks = {StopAtStepHook({.last_step = 1}),
                     Asks(got[static_cast<std::size_t>(collective->rank())], collective->rank())};
    auto session = monitored_training_session(loop, options);
    run_until_stop(session, [&] { session.run([] {}); });
  });
  EXPECT_EQ(got, (Strings{"0", "0"}));
}

}  // namespace
}  // namespace trainhook
