// SPDX-License-Identifier: Apache-2.0
/// @file
/// Training by several ranks, which are threads here: one model, one checkpoint, one decision.
#include <trainhook/ranks/peers.hpp>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <temporary_folder.hpp>
#include <trainhook/checkpoint/bundle/bundle_reader.hpp>
#include <trainhook/checkpoint/checkpoint_state.hpp>
#include <trainhook/hooks/checkpoint_saver_hook.hpp>
#include <trainhook/hooks/lambda_hook.hpp>
#include <trainhook/hooks/signal_hook.hpp>
#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/io/posix_file_system.hpp>
#include <trainhook/monitored/monitored_training_session.hpp>
#include <trainhook/ranks/testing/threaded_ranks.hpp>
#include <trainhook/session/coordinator.hpp>
#include <trainhook/session/hook_services.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/manual_clock.hpp>
#include <trainhook/testing/memory_file_system.hpp>

namespace trainhook {
namespace {

using namespace std::chrono_literals;
using Options = MonitoredTrainingSessionOptions;
using Strings = std::vector<std::string>;

/// What one rank saw.
struct Seen {
  std::int64_t first_step = 0;  // the global step when its session was there
  int steps = 0;                // runs that succeeded
  float weight = 0;
  std::string ended;  // how its hooks were told of the end
  std::string error;  // that left its program
  std::string why;
};

/// A rank of a program whose step adds 1 to a weight.
class Rank {
 public:
  Rank(int number, Options options) : options_(std::move(options)), weight_(100.0F * static_cast<float>(number)) {
    loop_.variable("weight", weight_);
    options_.hooks.emplace_back(LambdaHook({.end = [this](SessionRef) { seen.ended = "end"; },
                                            .abort = [this](const std::exception_ptr&) { seen.ended = "abort"; }}));
  }

  void train(const std::function<void(int step)>& in_step) {
    auto session = monitored_training_session(loop_, options_);
    seen.first_step = session.global_step();
    run_until_stop(session, [&] {
      session.run([&] {
        if (in_step) in_step(seen.steps + 1);
        ++weight_;
      });
      ++seen.steps;
    });
    seen.why = session.why_it_ended();
  }

  void run(const std::function<void(int step)>& in_step) {
    try {
      train(in_step);
    } catch (...) { seen.error = describe(std::current_exception()); }
    seen.weight = weight_;
  }

  Seen seen;

 private:
  Options options_;
  float weight_;
  LoopSession loop_;
};

class RanksTest : public ::testing::Test {
 protected:
  using Change = std::function<void(int rank, Options& options)>;

  /// Trains with so many ranks until `last_step`, or as `change` says.
  std::vector<Seen> train(int size, const Change& change, const std::function<void(int rank, int step)>& in_step = {}) {
    ranks = std::make_unique<testing::ThreadedRanks>(size);
    std::vector<Seen> seen(static_cast<std::size_t>(size));
    ranks->run([&](const std::shared_ptr<Collective>& collective) {
      const int number = collective->rank();
      Options options{.peers = peers(collective), .checkpoint_dir = directory, .save_checkpoint_steps = 1000};
      change(number, options);
      Rank rank(number, options);
      rank.run([&](int step) {
        if (in_step) in_step(number, step);
      });
      seen[static_cast<std::size_t>(number)] = rank.seen;
    });
    return seen;
  }
  [[nodiscard]] std::shared_ptr<SessionPeers> peers(const std::shared_ptr<Collective>& collective) const {
    return ranks::peers(collective, {.agree_every_n_steps = agree_every_n_steps, .max_wait_secs = 60s});
  }
  static Change until(std::int64_t last_step) {
    return [last_step](int, Options& options) { options.hooks = {StopAtStepHook({.last_step = last_step})}; };
  }

  void expect_not_shared(const std::vector<Seen>& seen) const {
    const std::string beginning = "checkpoint_dir '" + directory + "' of rank 1, on ";
    EXPECT_EQ(seen[1].error.find("FailedPrecondition: " + beginning), 0U) << seen[1].error;
    EXPECT_NE(seen[1].error.find(" is not that of rank 0"), std::string::npos) << seen[1].error;
    EXPECT_EQ(seen[0].error.find("FailedPrecondition: rank 1 has failed: " + beginning), 0U) << seen[0].error;
  }

  template <class Field>
  static std::vector<Field> each(const std::vector<Seen>& seen, Field Seen::*field) {
    std::vector<Field> all;
    for (const Seen& rank : seen) all.push_back(rank.*field);
    return all;
  }
  std::int64_t saved_step() {
    const auto newest = latest_checkpoint(posix_file_system(), directory);
    return newest ? BundleReader(*newest).get_tensor("global_step").scalar<std::int64_t>() : -1;
  }
  int files_with(const std::string& part) {
    int count = 0;
    for (const std::string& name : posix_file_system().list_directory(directory))
      count += name.find(part) != std::string::npos ? 1 : 0;
    return count;
  }

  testing::LogLines log;
  support::TemporaryFolder folder;
  std::string directory = folder.file("run");
  std::unique_ptr<testing::ThreadedRanks> ranks;
  std::int64_t agree_every_n_steps = 1;
};

TEST_F(RanksTest, StopAtTheSameStepAndTheChiefAloneWrites) {
  const auto seen = train(3, until(5));
  EXPECT_EQ(each(seen, &Seen::error), Strings(3));
  EXPECT_EQ(each(seen, &Seen::steps), (std::vector{5, 5, 5}));
  EXPECT_EQ(each(seen, &Seen::ended), (Strings{"end", "end", "end"}));
  EXPECT_EQ(saved_step(), 5);
  EXPECT_EQ(files_with("tfevents"), 1);
}

TEST_F(RanksTest, ContinueFromWhatTheChiefHasRestored) {
  train(3, until(5));
  const auto seen = train(3, until(7));
  EXPECT_EQ(each(seen, &Seen::error), Strings(3));
  EXPECT_EQ(each(seen, &Seen::first_step), (std::vector<std::int64_t>{5, 5, 5}));
  EXPECT_EQ(each(seen, &Seen::weight), (std::vector{7.0F, 7.0F, 7.0F}));
  const auto fewer = train(2, until(8));
  EXPECT_EQ(each(fewer, &Seen::first_step), (std::vector<std::int64_t>{7, 7}));
}

TEST_F(RanksTest, BeginWithTheInitialValuesOfTheChief) {
  EXPECT_EQ(each(train(3, until(2)), &Seen::weight), (std::vector{2.0F, 2.0F, 2.0F}));
}

TEST_F(RanksTest, OneIsAJob) {
  const auto seen = train(1, until(3));
  EXPECT_EQ(each(seen, &Seen::steps), (std::vector{3}));
  EXPECT_EQ(seen.front().why, "step 3 is reached");
}

TEST_F(RanksTest, AStopThatOneAsksForStopsAllAtThatStep) {
  const auto seen = train(3, [](int rank, Options& options) {
    if (rank != 2) return;
    options.hooks = {LambdaHook({.after_run = [](SessionRunContext& context, const SessionRunValues&) {
      if (context.global_step() == 4) context.request_stop("enough");
    }})};
  });
  EXPECT_EQ(each(seen, &Seen::error), Strings(3));
  EXPECT_EQ(each(seen, &Seen::steps), (std::vector{4, 4, 4}));
  EXPECT_EQ(each(seen, &Seen::why), (Strings{"rank 2: enough", "rank 2: enough", "enough"}));
  EXPECT_EQ(saved_step(), 4);
}

TEST_F(RanksTest, ASignalToOneIsAStopOfAllWithACheckpoint) {
  const auto seen = train(
      2,
      [](int rank, Options& options) {
        if (rank == 1) options.hooks = {SignalHook()};
      },
      [](int rank, int step) {
        if (rank == 1 && step == 3) std::raise(SIGTERM);
      });
  forget_interruption();
  EXPECT_EQ(each(seen, &Seen::error), Strings(2));
  EXPECT_EQ(each(seen, &Seen::steps), (std::vector{3, 3}));
  EXPECT_EQ(each(seen, &Seen::why), (Strings{"rank 1: SIGTERM", "SIGTERM"}));
  EXPECT_EQ(saved_step(), 3);
  EXPECT_EQ(log.count("no checkpoint was saved"), 0U);
}

TEST_F(RanksTest, AfterASignalTheChiefAloneWarnsThatNothingWasSaved) {
  for (const int signalled : {0, 1}) {
    const auto seen = train(
        2,
        [&](int rank, Options& options) {
          options.checkpoint_dir.clear();
          if (rank == signalled) options.hooks = {SignalHook()};
        },
        [&](int rank, int step) {
          if (rank == signalled && step == 3) std::raise(SIGTERM);
        });
    forget_interruption();
    EXPECT_EQ(each(seen, &Seen::error), Strings(2));
    EXPECT_EQ(log.count("training has ended, and no checkpoint was saved"), 1U) << signalled;
    EXPECT_EQ(log.count("training has ended, as all ranks agreed"), signalled == 1 ? 1U : 0U);
  }
}

TEST_F(RanksTest, AStopBeforeTheFirstStepStopsAll) {
  const auto seen = train(2, [](int rank, Options& options) {
    if (rank != 1) return;
    options.hooks = {
        LambdaHook({.after_create_session = [](SessionRef, Coordinator& coordinator) { coordinator.request_stop(); }})};
  });
  EXPECT_EQ(each(seen, &Seen::steps), (std::vector{0, 0}));
  EXPECT_EQ(seen.front().why, "rank 1: LambdaHook requested a stop");
}

TEST_F(RanksTest, TheEndOfOnesInputIsTheEndOfAll) {
  const auto seen = train(3, until(10), [](int rank, int step) {
    if (rank == 1 && step == 4) throw OutOfRangeError("no more");
  });
  EXPECT_EQ(each(seen, &Seen::error), Strings(3));
  EXPECT_EQ(each(seen, &Seen::steps), (std::vector{4, 3, 4}));
  EXPECT_EQ(each(seen, &Seen::ended), (Strings{"end", "end", "end"}));
  EXPECT_EQ(each(seen, &Seen::why), (Strings{"rank 1: end of input", "end of input", "rank 1: end of input"}));
  EXPECT_EQ(saved_step(), 4);
}

TEST_F(RanksTest, OneThatThrowsEndsAllByItsError) {
  const auto seen = train(3, until(10), [](int rank, int step) {
    if (rank == 1 && step == 3) throw DataLossError("a torn record");
  });
  EXPECT_EQ(each(seen, &Seen::error), (Strings{"DataLoss: rank 1 has failed: a torn record", "DataLoss: a torn record",
                                               "DataLoss: rank 1 has failed: a torn record"}));
  EXPECT_EQ(each(seen, &Seen::ended), (Strings{"abort", "abort", "abort"}));
  EXPECT_EQ(each(seen, &Seen::steps), (std::vector{3, 2, 3}));
  EXPECT_EQ(saved_step(), 0);
  EXPECT_EQ(ranks->why_it_was_ended(), "");
}

TEST_F(RanksTest, OfSeveralThatThrowTheFirstRankCounts) {
  const auto seen = train(3, until(10), [](int rank, int step) {
    if (rank > 0 && step == 3) throw std::runtime_error("broken on " + std::to_string(rank));
  });
  EXPECT_EQ(each(seen, &Seen::error),
            (Strings{"Unknown: rank 1 has failed: broken on 1", "broken on 1", "broken on 2"}));
  EXPECT_EQ(log.count("rank 2 has failed, and its error is not the first"), 1U);
}

TEST_F(RanksTest, ALostSessionIsAFailureOfTheJob) {
  const auto seen = train(2, until(10), [](int rank, int step) {
    if (rank == 1 && step == 2) throw UnavailableError("the network is down");
  });
  EXPECT_EQ(each(seen, &Seen::error), (Strings{"FailedPrecondition: rank 1 has failed: the network is down",
                                               "Unavailable: the network is down"}));
}

TEST_F(RanksTest, OneThatLosesItsSessionGoesOnAsAProcessAloneDoes) {
  bool is_lost = false;
  const auto seen = train(
      1, [](int, Options& options) { options.hooks = {StopAtStepHook({.last_step = 3})}; },
      [&](int, int step) {
        if (step == 2 && !std::exchange(is_lost, true)) throw UnavailableError("the network is down");
      });
  EXPECT_EQ(seen.front().error, "");
  EXPECT_TRUE(is_lost);
  EXPECT_EQ(saved_step(), 3);
}

TEST_F(RanksTest, AnErrorOfAHooksBeginReachesAll) {
  const auto seen = train(3, [](int rank, Options& options) {
    if (rank == 2) options.hooks = {LambdaHook({.begin = [](Graph&) { throw InternalError("not today"); }})};
  });
  const std::string own = "hook 'LambdaHook' failed in begin: not today";
  EXPECT_EQ(each(seen, &Seen::error), (Strings{"Internal: rank 2 has failed: " + own,
                                               "Internal: rank 2 has failed: " + own, "Internal: " + own}));
}

TEST_F(RanksTest, AnErrorOfTheChiefsLastSaveReachesAll) {
  const auto seen = train(2, [](int rank, Options& options) {
    options.hooks = {StopAtStepHook({.last_step = 2})};
    if (rank == 0)
      options.chief_only_hooks = {LambdaHook({.end = [](SessionRef) { throw InternalError("the disk is full"); }})};
  });
  EXPECT_EQ(each(seen, &Seen::error),
            (Strings{"Internal: the disk is full", "Internal: rank 0 has failed: the disk is full"}));
}

TEST_F(RanksTest, AnErrorBeforeTheSessionReachesAll) {
  train(2, until(1));
  const auto seen = train(2, [](int, Options& options) { options.on_existing = OnExisting::Fail; });
  EXPECT_EQ(seen[0].error.find("AlreadyExists: "), 0U) << seen[0].error;
  EXPECT_EQ(seen[1].error.find("AlreadyExists: rank 0 has failed: "), 0U) << seen[1].error;
}

TEST_F(RanksTest, ADirectoryThatIsNotSharedIsNamed) {
  train(2, until(3));
  testing::MemoryFileSystem own_disk;
  const auto seen = train(2, [&](int rank, Options& options) {
    options.hooks = {StopAtStepHook({.last_step = 5})};
    if (rank == 1) options.file_system = &own_disk;
  });
  expect_not_shared(seen);
}

TEST_F(RanksTest, ADirectoryThatIsNotSharedIsNamedAlsoBeforeThereIsACheckpoint) {
  testing::MemoryFileSystem own_disk;
  const auto seen = train(3, [&](int rank, Options& options) {
    options.hooks = {StopAtStepHook({.last_step = 5})};
    if (rank == 1) options.file_system = &own_disk;
  });
  expect_not_shared(seen);
  EXPECT_EQ(files_with("tempstate"), 0);
  EXPECT_EQ(saved_step(), -1);
}

TEST_F(RanksTest, WhatTellsThatTheDirectoryIsSharedIsRemoved) {
  train(2, until(3));
  EXPECT_EQ(files_with("tempstate"), 0);
}

TEST_F(RanksTest, OfWhichOneHasOtherVariablesAreNamed) {
  testing::ThreadedRanks job(2);
  const auto errors = job.run([&](const std::shared_ptr<Collective>& collective) {
    LoopSession loop;
    std::vector<float> weights(collective->rank() == 0 ? 3 : 4);
    loop.variable("weights", weights);
    static_cast<void>(
        monitored_training_session(loop, {.peers = ranks::peers(collective), .checkpoint_dir = directory}));
  });
  for (const std::exception_ptr& error : errors)
    EXPECT_NE(describe(error).find("on rank 1 the digest of the graph is '"), std::string::npos) << describe(error);
}

TEST_F(RanksTest, ThatDifferAreAllNamedWithWhatDiffers) {
  const auto seen = train(3, [&](int rank, Options& options) {
    if (rank == 1) options.checkpoint_dir = "elsewhere";
    if (rank == 2) options.save_checkpoint_steps = 7;
  });
  const std::string expected =
      "InvalidArgument: the ranks of the job must be alike. Compared with rank 0 on rank 1 "
      "checkpoint_dir is 'elsewhere' and not '" +
      directory + "'; on rank 2 save_checkpoint_steps is '7' and not '1000'";
  EXPECT_EQ(each(seen, &Seen::error), (Strings{expected, expected, expected}));
}

TEST_F(RanksTest, WithOtherGraphsOrLastStepsAreNamed) {
  const auto seen =
      train(2, [](int rank, Options& options) { options.hooks = {StopAtStepHook({.last_step = rank == 0 ? 5 : 6})}; });
  for (const Seen& rank : seen)
    EXPECT_NE(rank.error.find("on rank 1 StopAtStepHook's last_step is '6' and not '5'"), std::string::npos)
        << rank.error;
}

TEST_F(RanksTest, AgreeingRarelyTheyStopAtTheLastStepAllTheSame) {
  agree_every_n_steps = 4;
  const auto seen = train(2, until(10));
  EXPECT_EQ(each(seen, &Seen::steps), (std::vector{10, 10}));
  train(2, until(50));
  // Seven to begin with, two around the check of the checkpoint, one for what differs from the start and one for each
  // variable, one for the kernels' width and one when the session is there, one before the first step and one after it,
  // because the chief has not said yet when it saves; one after every fourth of 40 steps; three around the last save,
  // and one at the end.
  EXPECT_EQ(ranks->num_reductions(), 7 + 2 + 1 + 2 + 2 + 2 + 10 + 3 + 1);
}

TEST_F(RanksTest, AgreeingRarelyAStopOfOneTakesEffectAtTheNextAgreement) {
  agree_every_n_steps = 4;
  const auto seen = train(2, [](int rank, Options& options) {
    if (rank == 1)
      options.hooks = {LambdaHook({.after_run = [](SessionRunContext& context, const SessionRunValues&) {
        if (context.global_step() == 5) context.request_stop("enough");
      }})};
  });
  EXPECT_EQ(each(seen, &Seen::error), Strings(2));
  EXPECT_EQ(each(seen, &Seen::steps), (std::vector{8, 8}));
  EXPECT_EQ(seen.front().why, "rank 1: enough");
}

TEST_F(RanksTest, TheChiefsClockDecidesOnSaves) {
  testing::ManualClock clock;
  std::vector<std::int64_t> saved;
  train(
      2,
      [&](int rank, Options& options) {
        options.save_checkpoint_steps.reset();
        options.save_checkpoint_secs = 10s;
        options.hooks = {StopAtStepHook({.last_step = 8})};
        if (rank == 0) options.clock = &clock;
      },
      [&](int rank, int step) {
        if (rank != 0) return;
        saved.push_back(saved_step());
        if (step == 3) clock.advance(11s);
      });
  // Due at the end of step 3, agreed on before step 4, done after it.
  EXPECT_EQ(saved, (std::vector<std::int64_t>{0, 0, 0, 0, 4, 4, 4, 4}));
}

TEST_F(RanksTest, TheChiefsClockDecidesAlsoIfTheLoopNeverAsksWhetherToStop) {
  testing::ManualClock clock;
  std::vector<std::int64_t> saved;
  testing::ThreadedRanks(2).run([&](const std::shared_ptr<Collective>& collective) {
    const bool is_chief = collective->rank() == 0;
    float weight = 0;
    LoopSession loop;
    loop.variable("weight", weight);
    Options options{.peers = ranks::peers(collective, {.max_wait_secs = 60s}),
                    .checkpoint_dir = directory,
                    .save_checkpoint_secs = 10s};
    if (is_chief) options.clock = &clock;
    auto session = monitored_training_session(loop, options);
    for (int step = 1; step <= 7; ++step) {
      session.run([&] {
        if (is_chief) saved.push_back(saved_step());
        if (is_chief && step == 3) clock.advance(11s);
        ++weight;
      });
    }
    session.close();
  });
  // Due at the end of step 3, asked for in the round after it, which ends after step 4, and done after step 5.
  EXPECT_EQ(saved, (std::vector<std::int64_t>{0, 0, 0, 0, 0, 5, 5}));
}

TEST_F(RanksTest, AnErrorOfOneReachesALoopThatNeverAsksWhetherToStop) {
  std::vector<std::string> errors(2);
  testing::ThreadedRanks(2).run([&](const std::shared_ptr<Collective>& collective) {
    const int rank = collective->rank();
    float weight = 0;
    LoopSession loop;
    loop.variable("weight", weight);
    Options options{.peers = ranks::peers(collective, {.max_wait_secs = 60s}),
                    .checkpoint_dir = directory,
                    .save_checkpoint_steps = 1000};
    try {
      auto session = monitored_training_session(loop, options);
      for (int step = 1; step <= 100; ++step) {
        session.run([&] {
          if (rank == 1 && step == 3) throw DataLossError("a torn record");
          ++weight;
        });
      }
      session.close();
    } catch (...) { errors[static_cast<std::size_t>(rank)] = describe(std::current_exception()); }
  });
  EXPECT_EQ(errors[1], "DataLoss: a torn record");
  EXPECT_EQ(errors[0], "DataLoss: rank 1 has failed: a torn record");
}

TEST_F(RanksTest, MayHaveSeveralLastSteps) {
  const std::vector<Seen> seen = train(2, [](int, Options& options) {
    options.hooks = {StopAtStepHook({.last_step = 5}), StopAtStepHook({.last_step = 3})};
  });
  EXPECT_EQ(each(seen, &Seen::error), (Strings{"", ""}));
  EXPECT_EQ(each(seen, &Seen::steps), (std::vector<int>{3, 3}));
}

TEST_F(RanksTest, AStopInTheMiddleOfAStepFunctionIsSeenThere) {
  std::vector<int> made(2);
  testing::ThreadedRanks(2).run([&](const std::shared_ptr<Collective>& collective) {
    float weight = 0;
    LoopSession loop;
    loop.variable("weight", weight);
    Options options{.peers = ranks::peers(collective, {.max_wait_secs = 60s}),
                    .checkpoint_dir = directory,
                    .save_checkpoint_steps = 1000};
    options.hooks = {StopAtStepHook({.last_step = 3})};
    auto session = monitored_training_session(loop, options);
    while (!session.should_stop()) {
      session.run_step_fn([&](StepContext<LoopSession>& step) {
        for (int part = 0; part < 2 && !session.should_stop(); ++part) {
          step.run_with_hooks([&] { ++weight; });
          ++made[static_cast<std::size_t>(collective->rank())];
        }
      });
    }
  });
  EXPECT_EQ(made, (std::vector<int>{3, 3}));
  EXPECT_EQ(saved_step(), 3);
}

TEST_F(RanksTest, AnOptionThatOneCannotHaveReachesAll) {
  const std::vector<Seen> seen = train(2, [this](int rank, Options& options) {
    options.hooks = {StopAtStepHook({.last_step = 3})};
    if (rank == 1) options.hooks.emplace_back(CheckpointSaverHook({.checkpoint_dir = directory, .save_steps = 1}));
  });
  EXPECT_EQ(seen[1].error.find("InvalidArgument: monitored_training_session: with peers, a hook that saves"), 0U);
  EXPECT_EQ(seen[0].error.find("InvalidArgument: rank 1 has failed: "), 0U) << seen[0].error;
}

TEST_F(RanksTest, ASaveThatAnotherRankAsksForIsMadeByTheChief) {
  std::vector<std::int64_t> saved;
  train(
      2,
      [](int rank, Options& options) {
        class Asks final : public SessionRunHook {
          void after_run(SessionRunContext& context, const SessionRunValues&) override {
            if (context.global_step() == 3) services().request_save();
          }
        };
        options.hooks = {StopAtStepHook({.last_step = 6})};
        if (rank == 1) options.hooks.emplace_back(std::make_shared<Asks>());
      },
      [&](int rank, int) {
        if (rank == 0) saved.push_back(saved_step());
      });
  EXPECT_EQ(saved, (std::vector<std::int64_t>{0, 0, 0, 0, 4, 4}));
}

TEST_F(RanksTest, AProgramThatLeavesItsLoopEndsTheLoopsOfAll) {
  testing::ThreadedRanks job(2);
  std::vector<int> steps(2);
  const auto errors = job.run([&](const std::shared_ptr<Collective>& collective) {
    LoopSession loop;
    Options options{.peers = ranks::peers(collective, {.max_wait_secs = 60s}), .checkpoint_dir = directory};
    auto session = monitored_training_session(loop, options);
    int& count = steps[static_cast<std::size_t>(collective->rank())];
    while (!session.should_stop()) {
      session.run([&] { ++count; });
      if (collective->rank() == 0 && count == 3) break;
    }
    session.close();
    EXPECT_EQ(session.why_it_ended(),
              collective->rank() == 0 ? "the program closed the session" : "rank 0: the program closed the session");
  });
  EXPECT_EQ(errors, std::vector<std::exception_ptr>(2));
  EXPECT_EQ(steps[0], 3);
  EXPECT_EQ(steps[1], 4);  // it was on its way
}

TEST_F(RanksTest, ARunThatFailedAndIsMadeAgainKeepsThemTogether) {
  testing::ThreadedRanks job(2);
  std::vector<int> steps(2);
  const auto errors = job.run([&](const std::shared_ptr<Collective>& collective) {
    LoopSession loop;
    Options options{.peers = ranks::peers(collective, {.max_wait_secs = 60s}), .checkpoint_dir = directory};
    options.hooks = {StopAtStepHook({.last_step = 3})};
    auto session = monitored_training_session(loop, options);
    int& count = steps[static_cast<std::size_t>(collective->rank())];
    while (!session.should_stop()) {
      if (collective->rank() == 1 && count == 1) {
        EXPECT_THROW(session.run([] { throw InternalError("once"); }), InternalError);
      }
      session.run([&] { ++count; });
    }
    session.close();
  });
  EXPECT_EQ(errors, std::vector<std::exception_ptr>(2));
  EXPECT_EQ(steps, (std::vector{3, 3}));
}

TEST_F(RanksTest, ARankThatIsGoneEndsTheJob) {
  testing::ThreadedRanks job(2);
  const auto errors = job.run([&](const std::shared_ptr<Collective>& collective) {
    if (collective->rank() == 1) return;
    LoopSession loop;
    static_cast<void>(
        monitored_training_session(loop, {.peers = ranks::peers(collective), .checkpoint_dir = directory}));
  });
  EXPECT_NE(describe(errors.front()).find("rank 1, which has ended"), std::string::npos);
  EXPECT_NE(job.why_it_was_ended(), "");
}

TEST_F(RanksTest, OneRankIsAlone) {
  testing::ThreadedRanks job(1);
  const auto errors = job.run(
      [&](const std::shared_ptr<Collective>& collective) { EXPECT_TRUE(ranks::peers(collective)->may_recreate()); });
  EXPECT_EQ(errors, std::vector<std::exception_ptr>(1));
}

TEST_F(RanksTest, RankZeroIsTheChief) {
  std::vector<int> chiefs(2);
  const auto errors = testing::ThreadedRanks(2).run([&](const std::shared_ptr<Collective>& collective) {
    chiefs[static_cast<std::size_t>(collective->rank())] = ranks::peers(collective)->is_chief() ? 1 : 0;
  });
  EXPECT_EQ(errors, std::vector<std::exception_ptr>(2));
  EXPECT_EQ(chiefs, (std::vector{1, 0}));
}

TEST_F(RanksTest, PeersAreOfOneSession) {
  testing::ThreadedRanks job(2);
  const auto errors = job.run([&](const std::shared_ptr<Collective>& collective) {
    const Options options{.peers = peers(collective), .hooks = {StopAtStepHook({.last_step = 3})}};
    for (int i = 0; i < 2; ++i) {
      LoopSession loop;
      auto session = monitored_training_session(loop, options);
      run_until_stop(session, [&] { session.run([] {}); });
      EXPECT_EQ(i, 0);
      EXPECT_EQ(loop.global_step(), 3);
    }
  });
  for (const std::exception_ptr& error : errors) {
    ASSERT_NE(error, nullptr);
    EXPECT_EQ(describe(error),
              "FailedPrecondition: the peers of a session are those of an earlier one; make them for each session");
  }
}

TEST_F(RanksTest, WrongOptionsSayWhatToDo) {
  testing::ThreadedRanks job(1);
  const auto expect_error = [&](const std::function<void(Options&)>& change, const std::string& part,
                                const ranks::PeersOptions& of_peers = {}) {
    const auto errors = job.run([&](const std::shared_ptr<Collective>& collective) {
      LoopSession loop;
      Options options{.peers = ranks::peers(collective, of_peers), .checkpoint_dir = directory};
      change(options);
      static_cast<void>(monitored_training_session(loop, options));
    });
    ASSERT_NE(errors.front(), nullptr) << part;
    EXPECT_NE(describe(errors.front()).find(part), std::string::npos) << describe(errors.front());
  };
  expect_error([](Options&) {}, "agree_every_n_steps is 0", {.agree_every_n_steps = 0});
  expect_error([](Options&) {}, "max_wait_secs is 0 s", {.max_wait_secs = 0s});
  expect_error(
      [&](Options& options) { options.hooks = {CheckpointSaverHook({.checkpoint_dir = directory, .save_steps = 1})}; },
      "belongs to chief_only_hooks");
}

}  // namespace
}  // namespace trainhook
