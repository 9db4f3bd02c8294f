// SPDX-License-Identifier: Apache-2.0
/// @file
/// What each rank of a job has of its own (generators, hooks, input) comes back with the model.
#include <trainhook/ranks/peers.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/checkpoint/bundle/bundle_reader.hpp>
#include <trainhook/checkpoint/bundle/bundle_writer.hpp>
#include <trainhook/checkpoint/checkpoint_state.hpp>
#include <trainhook/data/iterator_resource.hpp>
#include <trainhook/data/dataset.hpp>
#include <trainhook/data/iterator.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/hooks/async_checkpoint_saver_hook.hpp>
#include <trainhook/hooks/checkpoint_saver_hook.hpp>
#include <trainhook/hooks/checkpoint_saver_listener.hpp>
#include <trainhook/hooks/lambda_hook.hpp>
#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/data/loop_iterator.hpp>
#include <trainhook/monitored/monitored_training_session.hpp>
#include <trainhook/ranks/testing/threaded_ranks.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/manual_clock.hpp>
#include <trainhook/testing/memory_file_system.hpp>

namespace trainhook {
namespace {

using namespace std::chrono_literals;
using Options = MonitoredTrainingSessionOptions;
using Strings = std::vector<std::string>;

/// Adds up the steps, times a factor; with the factor 0 it has no state.
class Sums final : public SessionRunHook {
 public:
  explicit Sums(std::int64_t factor) : factor_(factor) {}
  void after_run(SessionRunContext& context, const SessionRunValues& /*values*/) override {
    if (factor_ != 0) sum_ = sum_.value_or(0) + factor_ * context.global_step();
  }
  [[nodiscard]] StateValues save_state() override {
    if (on_save) on_save();
    StateValues state;
    if (sum_) state.set("sum", Tensor(*sum_));
    return state;
  }
  void load_state(const StateValues& state) override { sum_ = state.at("sum").scalar<std::int64_t>(); }

  [[nodiscard]] std::int64_t sum() const { return sum_.value_or(-1); }
  std::function<void()> on_save;

 private:
  std::int64_t factor_;
  std::optional<std::int64_t> sum_;
};

/// What a rank draws in each step, and how it ended.
struct Trace {
  std::vector<std::string> steps{};
  std::string error{};
};

/// One rank: each step draws from a generator that differs by rank, and takes elements of an input at its own pace.
struct Program {
  Program(int place, bool alike) : number(place), rank(alike ? 0 : place), noise(static_cast<unsigned>(rank + 1)) {
    loop.variable("weight", weight);
    loop.state("noise", noise);
    input = &make_iterator(loop, Dataset::range(1000), "input");
    save_with_model(loop.graph(), "input");
    sums = std::make_shared<Sums>(rank);
  }

  std::string step() {
    Element element;
    for (int i = 0; i <= rank; ++i) input->get_next(element);  // so that the positions differ
    ++weight;
    return std::to_string(noise() % 1000) + " " + std::to_string(element[0].scalar<std::int64_t>());
  }

  int number;  // of this process
  int rank;    // as which it draws
  float weight = 0;
  std::mt19937 noise;
  LoopSession loop;
  Iterator* input = nullptr;
  std::shared_ptr<Sums> sums;
};

class RankStatesTest : public ::testing::Test {
 protected:
  using Change = std::function<void(Program& program, Options& options)>;

  /// Trains with so many ranks until `last_step`.
  std::vector<Trace> train(int size, std::int64_t last_step, const Change& change = {}) {
    ranks = std::make_unique<testing::ThreadedRanks>(size);
    std::vector<Trace> traces(static_cast<std::size_t>(size));
    ranks->run([&](const std::shared_ptr<Collective>& collective) {
      Trace& trace = traces[static_cast<std::size_t>(collective->rank())];
      Program program(collective->rank(), alike);
      Options options{
          .peers = ranks::peers(collective, {.agree_every_n_steps = agree_every_n_steps, .max_wait_secs = 60s}),
          .checkpoint_dir = "run",
          .file_system = &*disk};
      options.save_checkpoint_steps = 1000;
      options.hooks = {StopAtStepHook({.last_step = last_step}), program.sums};
      try {
        if (change) change(program, options);
        auto session = monitored_training_session(program.loop, options);
        run_until_stop(session, [&] {
          std::string drawn;
          session.run([&] { drawn = program.step(); });
          trace.steps.push_back(drawn + " " + std::to_string(program.sums->sum()));
          if (leaves_at == std::pair(program.number, trace.steps.size())) session.close();
        });
      } catch (...) { trace.error = describe(std::current_exception()); }
    });
    return traces;
  }

  /// The same steps as without an interruption at `middle`, with what `change` says.
  void expect_same_steps(const Change& change = {}, std::int64_t middle = 7) {
    const std::vector<Trace> whole = train(3, 12, change);
    disk.emplace();
    const std::vector<Trace> first = train(3, middle, change);
    const std::vector<Trace> second = train(3, 12, change);
    for (std::size_t rank = 0; rank < 3; ++rank) {
      EXPECT_EQ(whole[rank].error + first[rank].error + second[rank].error, "");
      Strings steps = first[rank].steps;
      steps.insert(steps.end(), second[rank].steps.begin(), second[rank].steps.end());
      EXPECT_EQ(steps, whole[rank].steps) << "rank " << rank;
    }
    EXPECT_NE(whole[0].steps, whole[1].steps);
  }

  /// The names of what the newest checkpoint has of single ranks.
  Strings names() {
    Strings found;
    const auto newest = latest_checkpoint(*disk, "run");
    if (!newest) return {"no checkpoint"};
    const BundleReader reader(*newest, {.file_system = &*disk});
    for (const auto& [name, entry] : reader.entries())
      if (name.starts_with("_trainhook/ranks/")) found.push_back(name);
    return found;
  }
  std::int64_t saved_step() {
    const auto newest = latest_checkpoint(*disk, "run");
    return newest ? BundleReader(*newest, {.file_system = &*disk}).get_tensor("global_step").scalar<std::int64_t>()
                  : -1;
  }

  /// Makes the newest checkpoint one of a version that did not write how many ranks there are.
  void forget_num_ranks() {
    const std::string newest = latest_checkpoint(*disk, "run").value();
    std::vector<NamedTensor> kept;
    {
      const BundleReader reader(newest, {.file_system = &*disk});
      for (const auto& [name, entry] : reader.entries())
        if (name != "_trainhook/num_ranks") kept.push_back({name, reader.get_tensor(name)});
      EXPECT_EQ(kept.size() + 1, reader.entries().size());
    }
    BundleWriter writer(newest, {.file_system = &*disk, .overwrite = true});
    for (const NamedTensor& each : kept) writer.add(each.name, each.tensor);
    writer.finish();
  }

  bool alike = false;                                    // true: no rank has a state of its own
  std::optional<std::pair<int, std::size_t>> leaves_at;  // a rank, and after how many steps it leaves its loop
  testing::LogLines log;
  std::optional<testing::MemoryFileSystem> disk{std::in_place};
  std::unique_ptr<testing::ThreadedRanks> ranks;
  std::int64_t agree_every_n_steps = 1;
};

TEST_F(RankStatesTest, ComeBackAfterTheEnd) { expect_same_steps(); }

TEST_F(RankStatesTest, ComeBackFromAPeriodInSteps) {
  // The last save fails, so the second run begins at step 6.
  const auto change = [](Program&, Options& options) { options.save_checkpoint_steps = 3; };
  const std::vector<Trace> whole = train(2, 12, change);
  disk.emplace();
  train(2, 8, [&](Program& program, Options& options) {
    change(program, options);
    options.hooks.emplace_back(LambdaHook({.after_run = [](SessionRunContext& context, const SessionRunValues&) {
      if (context.global_step() == 8) throw InternalError("killed");
    }}));
  });
  EXPECT_EQ(saved_step(), 6);
  const std::vector<Trace> second = train(2, 12, change);
  for (std::size_t rank = 0; rank < 2; ++rank)
    EXPECT_EQ(second[rank].steps, Strings(whole[rank].steps.begin() + 6, whole[rank].steps.end()));
}

TEST_F(RankStatesTest, ComeBackFromABackgroundSave) {
  expect_same_steps([](Program& program, Options& options) {
    options.save_checkpoint_steps.reset();
    if (program.rank == 0)
      options.chief_only_hooks = {AsyncCheckpointSaverHook({.checkpoint_dir = "run", .save_steps = 2})};
  });
}

TEST_F(RankStatesTest, ComeBackIfRanksAgreeRarely) {
  agree_every_n_steps = 5;
  const auto change = [](Program&, Options& options) { options.save_checkpoint_steps = 4; };
  expect_same_steps(change);
  disk.emplace();
  const std::vector<Trace> whole = train(2, 12, change);
  disk.emplace();
  train(2, 12, [&](Program& program, Options& options) {
    change(program, options);
    options.hooks.emplace_back(LambdaHook({.after_run = [](SessionRunContext& context, const SessionRunValues&) {
      if (context.global_step() == 11) throw InternalError("killed");
    }}));
  });
  EXPECT_EQ(saved_step(), 8);
  EXPECT_EQ(train(2, 12, change)[1].steps, Strings(whole[1].steps.begin() + 8, whole[1].steps.end()));
}

TEST_F(RankStatesTest, ComeBackFromASaveByTheClockOrAtARequest) {
  testing::ManualClock clock;
  const std::vector<Trace> whole = train(2, 12);
  disk.emplace();
  train(2, 12, [&](Program& program, Options& options) {
    options.save_checkpoint_steps.reset();
    options.save_checkpoint_secs = 10s;
    if (program.rank == 0) options.clock = &clock;
    options.hooks.emplace_back(LambdaHook({.after_run = [&](SessionRunContext& context, const SessionRunValues&) {
      if (program.rank == 0 && context.global_step() == 3) clock.advance(11s);
      if (context.global_step() == 6) throw InternalError("killed");
    }}));
  });
  EXPECT_EQ(saved_step(), 4);  // asked for at the end of step 3, agreed on before step 4, done after it
  const std::vector<Trace> second = train(2, 12);
  for (std::size_t rank = 0; rank < 2; ++rank)
    EXPECT_EQ(second[rank].steps, Strings(whole[rank].steps.begin() + 4, whole[rank].steps.end()));
}

TEST_F(RankStatesTest, HaveNamesThatSayWhoseTheyAre) {
  train(3, 4);
  Strings expected;
  for (const std::string rank : {"1", "2"}) {
    for (const std::string name :
         {"_trainhook/hooks/Sums/sum", "_trainhook/hooks/Sums/version", "_trainhook/state/noise", "input-state"})
      expected.push_back("_trainhook/ranks/" + rank + "/" + name);
  }
  EXPECT_EQ(names(), expected);
}

TEST_F(RankStatesTest, ThatAreTheChiefsAreNotStored) {
  alike = true;
  train(3, 4);
  EXPECT_EQ(saved_step(), 4);
  EXPECT_EQ(names(), Strings());
}

TEST_F(RankStatesTest, RanksThatAreNewBeginWithTheirOwnGenerator) {
  const auto draws = [](const Trace& trace) {
    Strings drawn;
    for (const std::string& step : trace.steps) drawn.push_back(step.substr(0, step.find(' ')));
    return drawn;
  };
  const std::vector<Trace> fresh = train(4, 2);
  for (const int ranks_before : {1, 2}) {
    disk.emplace();
    train(ranks_before, 4);
    const std::vector<Trace> second = train(4, 6);
    EXPECT_EQ(second[0].error + second[3].error, "");
    for (std::size_t rank = 0; rank < 4; ++rank)
      EXPECT_EQ(draws(second[rank]) == draws(fresh[rank]), rank >= static_cast<std::size_t>(ranks_before)) << rank;
  }
  EXPECT_EQ(log.count("run/model.ckpt-4 has nothing of this rank, which is new to the run: it begins with its own "
                      "'_trainhook/state/noise'"),
            5U);
}

TEST_F(RankStatesTest, ThatAreEqualFromTheStartComeFromTheChiefForRanksThatAreNew) {
  alike = true;
  const std::vector<Trace> whole = train(1, 6);
  disk.emplace();
  train(1, 4);
  const std::vector<Trace> second = train(3, 6);
  EXPECT_EQ(second[2].steps, Strings(whole[0].steps.begin() + 4, whole[0].steps.end()));
}

// What functions save is not looked at before a restore, which they may need. But the checkpoint shows that it differs.
TEST_F(RankStatesTest, SavedByFunctionsAreLeftAloneOnRanksThatAreNewIfTheyDifferInTheCheckpoint) {
  std::vector<std::string> loaded(3);
  const auto with_functions = [&](Program& program, Options&) {
    const auto place = static_cast<std::size_t>(program.rank);
    program.loop.state(
        "shared", [] { return std::string("same"); }, [&, place](const std::string& text) { loaded[place] += text; });
    program.loop.state(
        "own", [place] { return std::to_string(place); },
        [&, place](const std::string& text) { loaded[place] += text; });
  };
  train(2, 4, with_functions);
  train(3, 6, with_functions);
  EXPECT_EQ(loaded, (Strings{"same0", "same1", "same"}));
}

TEST_F(RankStatesTest, ThatWereEqualToTheChiefsComeBack) {
  for (const bool is_of_an_earlier_version : {false, true}) {
    disk.emplace();
    Strings loaded(3);
    const auto with_counts = [&](Program& program, Options&) {
      const auto place = static_cast<std::size_t>(program.number);
      program.loop.state(
          "count", [place] { return std::string(place == 1 ? "3" : "5"); },
          [&, place](const std::string& text) { loaded[place] += text; });
    };
    alike = true;
    train(3, 4, with_counts);
    if (is_of_an_earlier_version) forget_num_ranks();
    train(3, 6, with_counts);
    EXPECT_EQ(loaded, (Strings{"5", "3", "5"}));
  }
  EXPECT_EQ(log.count("which is new to the run"), 0U);
}

TEST_F(RankStatesTest, OfRanksThatAreGoneAreLeftWithALine) {
  train(4, 4);
  train(2, 6);
  EXPECT_EQ(
      log.count("run/model.ckpt-4 has the state of 2 ranks that this job of 2 does not have; the first is rank 2"), 1U);
  for (const std::string& name : names()) EXPECT_EQ(name.find("_trainhook/ranks/1/"), 0U) << name;
}

TEST_F(RankStatesTest, OneThatCannotBeTakenEndsAllAndNothingIsWritten) {
  const std::vector<Trace> traces = train(3, 9, [](Program& program, Options& options) {
    options.save_checkpoint_steps = 4;
    if (program.rank == 2)
      program.sums->on_save = [&program] {
        if (program.weight == 4) throw DataLossError("nothing to save");
      };
    if (program.rank == 0)
      options.chief_only_hooks = {
          CheckpointSaverHook({.checkpoint_dir = "other", .save_steps = 4, .tolerated_save_failures = 10})};
  });
  const std::string error = "hook 'Sums' failed in save_state: nothing to save";
  EXPECT_EQ(traces[0].error, "DataLoss: rank 2 has failed: " + error);
  EXPECT_EQ(traces[1].error, "DataLoss: rank 2 has failed: " + error);
  EXPECT_EQ(traces[2].error, "DataLoss: " + error);
  EXPECT_EQ(saved_step(), 0);
  EXPECT_EQ(ranks->why_it_was_ended(), "");
}

TEST_F(RankStatesTest, OfTheChiefItselfThatCannotBeTakenEndAllToo) {
  const std::vector<Trace> traces = train(2, 9, [](Program& program, Options& options) {
    options.save_checkpoint_steps = 4;
    if (program.rank == 0)
      program.sums->on_save = [&program] {
        if (program.weight == 4) throw DataLossError("nothing to save");
      };
  });
  const std::string error = "hook 'Sums' failed in save_state: nothing to save";
  EXPECT_EQ(traces[0].error, "DataLoss: " + error);
  EXPECT_EQ(traces[1].error, "DataLoss: rank 0 has failed: " + error);
}

TEST_F(RankStatesTest, AreTakenAgainAfterASaveThatFailed) {
  int attempts = 0;
  const std::vector<Trace> traces = train(2, 7, [&](Program& program, Options& options) {
    options.save_checkpoint_steps.reset();
    if (program.rank == 1) program.sums->on_save = [&] { ++attempts; };
    if (program.rank != 0) return;
    class Fails final : public CheckpointSaverListener {
      void before_save(SessionRef, std::int64_t step) override {
        if (step == 4) throw UnavailableError("the disk is away");
      }
    };
    options.chief_only_hooks = {CheckpointSaverHook({.checkpoint_dir = "run",
                                                     .save_steps = 2,
                                                     .listeners = {std::make_shared<Fails>()},
                                                     .tolerated_save_failures = 1})};
  });
  EXPECT_EQ(traces[0].error + traces[1].error, "");
  EXPECT_EQ(attempts, 5);  // at the steps 0, 2, 4, 6 and 7
  EXPECT_EQ(saved_step(), 7);
}

TEST_F(RankStatesTest, AVetoOfTheChiefHoldsNoRankUp) {
  const std::vector<Trace> traces = train(2, 6, [&](Program& program, Options& options) {
    options.save_checkpoint_steps = 2;
    class Objects final : public SessionRunHook {
      void after_run(SessionRunContext& context, const SessionRunValues&) override { step_ = context.global_step(); }
      [[nodiscard]] std::optional<std::string> veto_save() override {
        return step_ == 2 || step_ == 3 ? std::optional<std::string>("not now") : std::nullopt;
      }
      std::int64_t step_ = 0;
    };
    if (program.rank == 0) options.chief_only_hooks = {std::make_shared<Objects>()};
  });
  EXPECT_EQ(traces[0].error + traces[1].error, "");
  EXPECT_EQ(saved_step(), 6);
}

TEST_F(RankStatesTest, AreOfTheStepAlsoIfTheLoopNeverAsksWhetherToStop) {
  const auto run_all = [&](std::int64_t steps) {
    std::vector<Strings> drawn(2);
    testing::ThreadedRanks job(2);
    const auto errors = job.run([&](const std::shared_ptr<Collective>& collective) {
      Program program(collective->rank(), false);
      Options options{
          .peers = ranks::peers(collective, {.max_wait_secs = 60s}), .checkpoint_dir = "run", .file_system = &*disk};
      options.save_checkpoint_steps = 2;
      options.hooks = {program.sums};
      auto session = monitored_training_session(program.loop, options);
      while (session.global_step() < steps) {
        session.run_step_fn([&](StepContext<LoopSession>& context) {
          for (int i = 0; i < 2; ++i)
            context.run_with_hooks(
                [&] { drawn[static_cast<std::size_t>(collective->rank())].push_back(program.step()); });
        });
      }
      session.close();
    });
    for (const std::exception_ptr& error : errors) EXPECT_EQ(error == nullptr ? "" : describe(error), "");
    return drawn;
  };
  const std::vector<Strings> whole = run_all(12);
  disk.emplace();
  run_all(6);
  EXPECT_EQ(run_all(12)[1], Strings(whole[1].begin() + 6, whole[1].end()));
}

TEST_F(RankStatesTest, OfARankThatHasLeftItsLoopEarlyIsNotThatOfTheSavedStep) {
  for (const int rank : {0, 1}) {
    disk.emplace();
    leaves_at = {rank, 3};
    const std::vector<Trace> traces =
        train(2, 9, [](Program&, Options& options) { options.save_checkpoint_steps = 2; });
    const std::string why = rank == 0 ? "step 3 is not saved: rank 1 has ended at step 4, and so has '_trainhook/"
                                      : "step 4 is not saved: rank 1 has ended at step 3, and so has '_trainhook/";
    EXPECT_NE(traces[0].error.find(why), std::string::npos) << traces[0].error;
    EXPECT_NE(traces[1].error.find("rank 0 has failed: " + why), std::string::npos) << traces[1].error;
    EXPECT_EQ(saved_step(), 2);
  }
}

TEST_F(RankStatesTest, OfARankWhoseInputEndsInAStepThatIsSaved) {
  const std::vector<Trace> traces = train(3, 9, [](Program& program, Options& options) {
    options.save_checkpoint_steps = 4;
    options.hooks.emplace_back(LambdaHook({.before_run = [&program](SessionRunContext&) -> SessionRunArgs {
      if (program.rank == 1 && program.weight == 3) throw OutOfRangeError("no more");
      return {};
    }}));
  });
  EXPECT_EQ(traces[0].error + traces[1].error + traces[2].error, "");
  EXPECT_EQ(traces[0].steps.size(), 4U);
  EXPECT_EQ(traces[1].steps.size(), 3U);
  EXPECT_EQ(traces[2].steps.size(), 4U);
  EXPECT_EQ(saved_step(), 4);
}

}  // namespace
}  // namespace trainhook
