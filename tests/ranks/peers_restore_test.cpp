// SPDX-License-Identifier: Apache-2.0
/// @file
/// Jobs that restore by RestoreRules: all ranks go on as if nothing had been renamed, each with what is its own.
#include <trainhook/ranks/peers.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/checkpoint/restore_rules.hpp>
#include <trainhook/checkpoint/run_record.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/loop/loop_session.hpp>
#include <trainhook/monitored/monitored_training_session.hpp>
#include <trainhook/ranks/testing/threaded_ranks.hpp>
#include <trainhook/testing/memory_file_system.hpp>

namespace trainhook {
namespace {

using Options = MonitoredTrainingSessionOptions;
using Strings = std::vector<std::string>;

/// What a program calls its variable, its generator, and its hook.
struct Names {
  std::string weight{};
  std::string noise{};
  std::string sums{};
};
const Names kBefore{.weight = "weight", .noise = "noise", .sums = "Sums"};
const Names kNow{.weight = "net/weight", .noise = "draws", .sums = "Totals"};
const std::vector<std::pair<std::string, std::string>> kRenames = {
    {"weight", "net/weight"}, {"noise", "draws"}, {"_trainhook/hooks/Sums", "_trainhook/hooks/Totals"}};

/// Adds up the steps, times the rank.
class Sums final : public SessionRunHook {
 public:
  Sums(std::string name, std::int64_t factor) : name_(std::move(name)), factor_(factor) {}
  [[nodiscard]] std::string name() const override { return name_; }
  void after_run(SessionRunContext& context, const SessionRunValues& /*values*/) override {
    sum += factor_ * context.global_step();
  }
  [[nodiscard]] StateValues save_state() override {
    StateValues state;
    state.set("sum", Tensor(sum));
    return state;
  }
  void load_state(const StateValues& state) override { sum = state.at("sum").scalar<std::int64_t>(); }

  std::int64_t sum = 0;

 private:
  std::string name_;
  std::int64_t factor_;
};

class RanksWithRules : public ::testing::Test {
 protected:
  /// The steps of each rank, or the error with which it ended.
  std::vector<Strings> train(int size, std::int64_t last_step, const Names& names, const Options& given = {}) {
    testing::ThreadedRanks ranks(size);
    std::vector<Strings> traces(static_cast<std::size_t>(size));
    ranks.run([&](const std::shared_ptr<Collective>& collective) {
      const int rank = collective->rank();
      Strings& trace = traces[static_cast<std::size_t>(rank)];
      float weight = static_cast<float>(-100 * rank);  // that of the chief counts
      std::mt19937 noise(static_cast<unsigned>(rank + 1));
      LoopSession loop;
      loop.variable(names.weight, weight);
      loop.state(names.noise, noise);
      if (has_init) loop.init([&trace] { trace.emplace_back("initialized"); });
      const auto sums = std::make_shared<Sums>(names.sums, rank);
      Options options = given;
      options.peers = ranks::peers(collective);
      if (options.checkpoint_dir.empty()) options.checkpoint_dir = "run";
      options.file_system = &disk;
      options.save_checkpoint_steps = 1000;
      options.hooks = {StopAtStepHook({.last_step = last_step}), sums};
      if (rank == 1 && other_rules_of_rank_1 != nullptr) options.restore = other_rules_of_rank_1;
      try {
        auto session = monitored_training_session(loop, options);
        run_until_stop(session, [&] {
          std::string step;
          session.run([&] { step = std::to_string(++weight) + " " + std::to_string(noise() % 1000); });
          trace.push_back(step + " " + std::to_string(sums->sum));
        });
      } catch (...) { trace = {describe(std::current_exception())}; }
    });
    return traces;
  }
  static std::vector<Strings> joined(std::vector<Strings> first, const std::vector<Strings>& second) {
    for (std::size_t rank = 0; rank < first.size(); ++rank)
      first[rank].insert(first[rank].end(), second[rank].begin(), second[rank].end());
    return first;
  }

  testing::MemoryFileSystem disk;
  std::shared_ptr<const RestorePolicy> other_rules_of_rank_1;
  bool has_init = false;
};

TEST_F(RanksWithRules, GoOnAsIfNothingHadBeenRenamed) {
  const std::vector<Strings> whole = train(3, 12, kBefore, {.checkpoint_dir = "whole"});
  EXPECT_NE(whole[0], whole[1]);
  const std::vector<Strings> first = train(3, 7, kBefore);
  const Options with_rules{.restore = RestoreRules{.rename = kRenames}};
  EXPECT_EQ(joined(first, joined(train(3, 10, kNow, with_rules), train(3, 12, kNow, with_rules))), whole);
}

TEST_F(RanksWithRules, BeginFromAnotherRunWithWhatEachHadThere) {
  const std::vector<Strings> whole = train(3, 12, kBefore, {.checkpoint_dir = "whole"});
  const std::vector<Strings> first = train(3, 7, kBefore);
  const Options with_rules{.checkpoint_dir = "next", .restore = RestoreRules{.from = "run", .rename = kRenames}};
  EXPECT_EQ(joined(first, joined(train(3, 10, kNow, with_rules), train(3, 12, kNow, with_rules))), whole);
}

TEST_F(RanksWithRules, ThatAreNewBeginWithTheirOwnGenerator) {
  const auto draw = [](const Strings& steps) { return steps.front().substr(steps.front().find(' ') + 1, 3); };
  const std::vector<Strings> fresh = train(3, 1, kNow, {.checkpoint_dir = "fresh"});
  train(1, 7, kBefore);
  for (const std::string from : {"run", ""}) {
    const std::vector<Strings> steps = train(
        3, 8, kNow,
        {.checkpoint_dir = from.empty() ? "run" : "next", .restore = RestoreRules{.from = from, .rename = kRenames}});
    EXPECT_TRUE(steps[2].front().starts_with("8.0")) << steps[2].front();
    for (const std::size_t rank : {1U, 2U}) EXPECT_EQ(draw(steps[rank]), draw(fresh[rank]));
  }
}

TEST_F(RanksWithRules, HaveTheChiefsInitialValueOfWhatIsMissing) {
  train(2, 3, kBefore);
  const Names other{.weight = "other", .noise = "noise", .sums = "Sums"};
  const auto steps = train(2, 4, other, {.restore = RestoreRules{.missing = Missing::KeepInitial}});
  for (const Strings& of_rank : steps) EXPECT_TRUE(of_rank.front().starts_with("1.0")) << of_rank.front();
  EXPECT_EQ(detail::read_run_record(disk, "run")->restored,
            "from run/model.ckpt-3: 'other' is not in it and keeps its initial value");
}

TEST_F(RanksWithRules, AreInitializedOnEachRankUnlessTheyGoOn) {
  train(3, 3, kBefore);
  has_init = true;
  const Options from_another{.checkpoint_dir = "next", .restore = RestoreRules{.from = "run", .rename = kRenames}};
  for (const Strings& of_rank : train(3, 5, kNow, from_another)) EXPECT_EQ(of_rank.front(), "initialized");
  for (const Strings& of_rank : train(3, 7, kNow, from_another)) EXPECT_NE(of_rank.front(), "initialized");
}

TEST_F(RanksWithRules, ThatDifferAreAnErrorThatNamesThem) {
  train(2, 3, kBefore);
  other_rules_of_rank_1 = RestoreRules{.cast = true};
  const auto errors = train(2, 4, kBefore, {.restore = RestoreRules{.from = "old", .rename = {{"a", "b"}}}});
  EXPECT_NE(
      errors[1].at(0).find("restore is 'missing fails, cast, no reshape' and not 'from old, a -> b, missing fails, "
                           "no cast, no reshape'"),
      std::string::npos)
      << errors[1].at(0);
}

}  // namespace
}  // namespace trainhook
