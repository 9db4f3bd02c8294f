// SPDX-License-Identifier: Apache-2.0
/// @file
/// A loop in a monitored session: it dies, is lost and goes on.
#include <trainhook/loop/loop_session.hpp>

#include <sys/wait.h>

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <trainhook/checkpoint/bundle/bundle_reader.hpp>
#include <trainhook/checkpoint/checkpoint_state.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/events/event_reader.hpp>
#include <trainhook/graph/ops/summary.hpp>
#include <trainhook/hooks/async_checkpoint_saver_hook.hpp>
#include <trainhook/hooks/best_checkpoint_hook.hpp>
#include <trainhook/hooks/evaluation_hook.hpp>
#include <trainhook/hooks/exponential_moving_average_hook.hpp>
#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/monitored/monitored_training_session.hpp>
#include <trainhook/testing/manual_clock.hpp>
#include <trainhook/testing/memory_file_system.hpp>
#include <trainhook/testing/process_faults.hpp>

#include "allocations.hpp"
#include "expect_error.hpp"
#include "sanitized.hpp"
#include "temporary_folder.hpp"

namespace trainhook {
namespace {

/// Throws away log lines of its lifetime, or keeps them for a look.
class QuietLog {
 public:
  QuietLog() : previous_(set_log_sink([this](LogLevel, std::string_view line) { lines.append(line).append("\n"); })) {}
  QuietLog(const QuietLog&) = delete;
  QuietLog& operator=(const QuietLog&) = delete;
  ~QuietLog() { set_log_sink(std::move(previous_)); }
  std::string lines;

 private:
  LogSink previous_;
};

/// One process: a noisy fit whose state is two weights, a velocity in column-major memory, a generator and a counter.
class Trainer {
 public:
  Trainer() {
    loop.variable("weights", weights);
    loop.variable("velocity", velocity, {.shape = {2, 1}, .layout = Layout::ColumnMajor});
    loop.state("noise", noise);
    loop.state("samples", samples);
    const Output value = loop.value("loss", [this] { return loss; });
    summary::scalar("training_loss", value);
  }

  float step() {
    const float x = std::uniform_real_distribution<float>(-1, 1)(noise);
    const float y = 3 * x - 1 + std::normal_distribution<float>(0, 0.1F)(noise);
    ++samples;
    const float error = weights[0] * x + weights[1] - y;
    velocity = {0.9F * velocity[0] + error * x, 0.9F * velocity[1] + error};
    weights = {weights[0] - 0.01F * velocity[0], weights[1] - 0.01F * velocity[1]};
    return error * error;
  }

  std::vector<float> weights = std::vector<float>(2);
  std::vector<float> velocity = std::vector<float>(2);
  std::mt19937_64 noise{7};
  std::int64_t samples = 0;
  float loss = 0;
  LoopSession loop;
};

class LoopSessionMonitoredTest : public ::testing::Test {
 protected:
  MonitoredTrainingSessionOptions options(std::int64_t last_step, RetryPolicy retry = {}) {
    MonitoredTrainingSessionOptions options;
    options.checkpoint_dir = "run";
    options.hooks = {StopAtStepHook({.last_step = last_step})};
    options.save_checkpoint_steps = 10;
    options.retry = std::move(retry);
    options.file_system = &disk;
    options.clock = &clock;
    return options;
  }

  // Trains up to `last_step`; throws in place of a step if `fails` says so, as a process that dies there would leave
  // things.
  void train(Trainer& trainer, std::int64_t last_step, std::optional<std::int64_t> dies_before = std::nullopt) {
    auto session = monitored_training_session(trainer.loop, options(last_step));
    try {
      while (!session.should_stop()) {
        session.run([&] {
          if (trainer.loop.global_step() == dies_before) throw std::runtime_error("killed");
          trainer.loss = trainer.step();
        });
      }
    } catch (...) {
      session.abort(std::current_exception());
      throw;
    }
    session.close();
  }

  QuietLog log;
  testing::ManualClock clock;
  testing::MemoryFileSystem disk;
};

TEST_F(LoopSessionMonitoredTest, EndsWithTheSameBitsHoweverOftenItDied) {
  Trainer straight;
  {
    testing::MemoryFileSystem elsewhere;
    auto other = options(57);
    other.file_system = &elsewhere;
    auto session = monitored_training_session(straight.loop, std::move(other));
    while (!session.should_stop()) session.run([&] { straight.loss = straight.step(); });
    session.close();
  }
  for (const std::int64_t death : {5, 14, 39, 55}) {
    Trainer doomed;
    EXPECT_THROW(train(doomed, 57, death), std::runtime_error);
  }
  Trainer last;
  train(last, 57);
  EXPECT_EQ(last.loop.global_step(), 57);
  EXPECT_EQ(last.weights, straight.weights);
  EXPECT_EQ(last.velocity, straight.velocity);
  EXPECT_EQ(last.noise, straight.noise);
  EXPECT_EQ(last.samples, 57);
}

TEST_F(LoopSessionMonitoredTest, RestoresIntoANewProcess) {
  Trainer first;
  train(first, 20);
  Trainer second;
  auto session = monitored_training_session(second.loop, options(30));
  EXPECT_EQ(second.loop.global_step(), 20);
  EXPECT_EQ(second.weights, first.weights);
  EXPECT_EQ(second.noise, first.noise);
  EXPECT_EQ(second.samples, 20);
}

struct Town {
  std::map<std::string, std::vector<double>> houses{};
  std::vector<bool> is_lit{};
};
void visit_state(const auto& visit, Town& town) {
  visit("houses", town.houses);
  visit("is_lit", town.is_lit);
}

TEST_F(LoopSessionMonitoredTest, WhatGrewIsRestoredIntoWhatIsSmall) {
  const auto grow = [&](testing::MemoryFileSystem& on, std::optional<std::int64_t> dies_before = std::nullopt) {
    Town town{.houses = {{"first", {}}}};
    LoopSession loop;
    loop.state("town", town);
    auto its_options = options(40);
    its_options.file_system = &on;
    auto session = monitored_training_session(loop, std::move(its_options));
    run_until_stop(session, [&] {
      session.run([&] {
        const std::int64_t step = loop.global_step();
        if (step == dies_before) throw std::runtime_error("killed");
        town.houses[std::to_string(step % 7)].push_back(static_cast<double>(step) / 3);
        town.is_lit.push_back(step % 3 == 0);
      });
    });
    return town;
  };
  EXPECT_THROW(grow(disk, 25), std::runtime_error);
  const Town resumed = grow(disk);
  testing::MemoryFileSystem elsewhere;
  const Town whole = grow(elsewhere);
  EXPECT_EQ(resumed.houses, whole.houses);
  EXPECT_EQ(resumed.is_lit, whole.is_lit);
  EXPECT_EQ(whole.is_lit.size(), 40U);
}

/// Particles that are born and die.
struct Swarm {
  Swarm() {
    summary::histogram("places", loop.variable("positions", positions, {.shape = {-1, 3}, .resizable = true}));
    loop.variable("ages", ages, {.trainable = false, .resizable = true});
    loop.state("noise", noise);
  }
  void step() {
    for (float& x : positions) x += std::uniform_real_distribution<float>(-1, 1)(noise);
    for (std::int64_t& age : ages) ++age;
    if (noise() % 3 > 0) {
      positions.insert(positions.end(), {0, 0, 0});
      ages.push_back(0);
    } else if (!ages.empty()) {
      positions.erase(positions.begin(), positions.begin() + 3);
      ages.erase(ages.begin());
    }
  }
  std::vector<float> positions = std::vector<float>(6);
  std::vector<std::int64_t> ages = std::vector<std::int64_t>(2);
  std::mt19937_64 noise{5};
  LoopSession loop;
};

TEST_F(LoopSessionMonitoredTest, WhatChangesItsSizeEndsWithTheSameBitsHoweverOftenItDied) {
  Swarm straight;
  for (int i = 0; i < 57; ++i) straight.step();
  ASSERT_GT(straight.ages.size(), 5U);
  for (const bool in_background : {false, true}) {
    const std::string killed = in_background ? "killed_too" : "killed";
    const std::string lost_once = in_background ? "lost_too" : "lost";
    const auto train = [&](Swarm& swarm, const std::string& directory, std::optional<std::int64_t> dies_before,
                           bool is_lost = false) {
      auto its_options = options(57);
      its_options.checkpoint_dir = directory;
      its_options.save_summaries_steps = 1;
      if (in_background) {
        its_options.hooks.push_back(AsyncCheckpointSaverHook({.checkpoint_dir = directory, .save_steps = 10}));
        its_options.save_checkpoint_steps.reset();
      }
      its_options.hooks.push_back(EvaluationHook(
          [&] {
            return Metrics{{"size", static_cast<double>(swarm.ages.size())}};
          },
          {.every_n_steps = 10, .name = "eval"}));
      its_options.hooks.push_back(
          BestCheckpointHook({.metric = "eval/size", .better = Better::Higher, .directory = directory + "/best"}));
      auto session = monitored_training_session(swarm.loop, std::move(its_options));
      run_until_stop(session, [&] {
        session.run([&] {
          if (swarm.loop.global_step() == dies_before) throw std::runtime_error("killed");
          if (swarm.loop.global_step() == 45 && std::exchange(is_lost, false)) {
            swarm.positions.clear();  // whatever the loss has left behind
            swarm.ages.clear();
            throw AbortedError("the device is gone");
          }
          swarm.step();
        });
      });
    };
    for (const std::int64_t death : {5, 14, 39, 55}) {
      Swarm doomed;
      EXPECT_THROW(train(doomed, killed, death), std::runtime_error);
    }
    Swarm last;
    train(last, killed, std::nullopt);
    EXPECT_EQ(last.positions, straight.positions);
    EXPECT_EQ(last.ages, straight.ages);
    Swarm lost;
    train(lost, lost_once, std::nullopt, true);
    EXPECT_EQ(lost.positions, straight.positions);
    const BundleReader best(latest_checkpoint(disk, lost_once + "/best").value(), {.file_system = &disk});
    EXPECT_EQ(best.get_tensor("positions").shape()[0], best.get_tensor("ages").shape()[0]);
    EXPECT_GT(best.get_tensor("ages").shape()[0], 5);
  }
}

TEST_F(LoopSessionMonitoredTest, AnAverageOfWhatChangesItsSizeIsAnErrorThatSaysWhatToDo) {
  Swarm swarm;
  auto with_averages = options(57);
  with_averages.hooks.push_back(ExponentialMovingAverageHook());
  auto session = monitored_training_session(swarm.loop, std::move(with_averages));
  testing::expect_error<FailedPreconditionError>(
      {"ExponentialMovingAverageHook: variable 'positions' has changed its shape from [2,3] to [3,3]", "`variables`",
       "trainable"},
      [&] {
        session.run([&] {
          swarm.positions.resize(9);
          swarm.ages.resize(3);
        });
      });
}

struct FloatInt {
  float rate = 0.5F;
  std::int32_t patience = 7;
};
struct IntFloat {
  std::int32_t patience = 7;
  float rate = 0.5F;
};

TEST_F(LoopSessionMonitoredTest, StateOfAnotherTypeEndsTheStartAndIsNotDamage) {
  const auto start = [&]<class Object>(Object object, std::int64_t last_step) {
    LoopSession loop;
    loop.state("object", object);
    auto session = monitored_training_session(loop, options(last_step));
    while (!session.should_stop()) session.run([] {});
    session.close();
  };
  start(FloatInt(), 20);
  testing::expect_error<InvalidArgumentError>(
      {"'_trainhook/state/object' is {float32, int32} in 8 bytes in the checkpoint and {int32, float32} in 8 bytes in",
       "give it the type that was saved, or another name"},
      [&] { start(IntFloat(), 30); });
  EXPECT_EQ(log.lines.find("is skipped"), std::string::npos) << log.lines;
  start(FloatInt(), 30);
  EXPECT_TRUE(disk.exists("run/model.ckpt-30.index"));
}

TEST_F(LoopSessionMonitoredTest, SavesUnderItsOwnNames) {
  Trainer trainer;
  train(trainer, 10);
  const BundleReader reader("run/model.ckpt-10", {.file_system = &disk});
  std::string lines;
  for (const auto& [name, entry] : reader.entries()) {
    if (!name.starts_with("_trainhook/hooks/"))
      lines += fmt::format("{} {}{}\n", name, dtype_name(entry.dtype), entry.shape);
  }
  EXPECT_EQ(lines,
            "_trainhook/state/noise string[1,2]\n_trainhook/state/samples int64[]\nglobal_step int64[]\nvelocity "
            "float32[2,1]\nweights "
            "float32[2]\n");
}

TEST_F(LoopSessionMonitoredTest, ContinuesFromTheCheckpointWhenTheSessionIsLost) {
  Trainer trainer;
  bool lose = true;
  auto session = monitored_training_session(trainer.loop, options(20));
  while (!session.should_stop()) {
    session.run([&] {
      if (trainer.loop.global_step() == 15 && std::exchange(lose, false)) {
        trainer.weights = {1e9F, 1e9F};  // whatever the loss has left behind
        throw AbortedError("the device is gone");
      }
      trainer.loss = trainer.step();
    });
  }
  session.close();
  Trainer straight;
  for (int i = 0; i < 20; ++i) straight.step();
  EXPECT_EQ(trainer.weights, straight.weights);
  EXPECT_EQ(trainer.noise, straight.noise);
  EXPECT_EQ(trainer.samples, 20);
}

TEST_F(LoopSessionMonitoredTest, CannotContinueWithoutCheckpointAndInitFunction) {
  Trainer trainer;
  auto plain = options(20);
  plain.checkpoint_dir.clear();
  auto session = monitored_training_session(trainer.loop, std::move(plain));
  session.run([&] { trainer.step(); });
  EXPECT_THROW(session.run([] { throw AbortedError("gone"); }), FailedPreconditionError);
}

TEST_F(LoopSessionMonitoredTest, BeginsAgainByTheInitFunctionWithoutCheckpoint) {
  Trainer trainer;
  trainer.loop.init([&] {
    trainer.weights = trainer.velocity = {0, 0};
    trainer.noise.seed(7);
    trainer.samples = 0;
  });
  auto plain = options(20);
  plain.checkpoint_dir.clear();
  bool lose = true;
  auto session = monitored_training_session(trainer.loop, std::move(plain));
  while (!session.should_stop()) {
    session.run([&] {
      if (trainer.loop.global_step() == 15 && std::exchange(lose, false)) throw AbortedError("gone");
      trainer.step();
    });
  }
  session.close();
  EXPECT_EQ(trainer.samples, 20);
  EXPECT_EQ(trainer.loop.global_step(), 20);
}

TEST_F(LoopSessionMonitoredTest, WritesItsSummaries) {
  Trainer trainer;
  auto with_summaries = options(3);
  with_summaries.save_summaries_steps = 1;
  std::vector<float> losses;
  auto session = monitored_training_session(trainer.loop, std::move(with_summaries));
  while (!session.should_stop()) session.run([&] { losses.push_back(trainer.loss = trainer.step()); });
  session.close();
  std::vector<std::pair<std::int64_t, float>> seen;
  for (const std::string& path : list_event_files(disk, "run")) {
    for (const Event& event : read_events(disk, path).events) {
      for (const SummaryValue& value : event.values) {
        if (value.tag == "training_loss") seen.emplace_back(event.step, value.scalar.value_or(-1));
      }
    }
  }
  EXPECT_EQ(seen, (std::vector<std::pair<std::int64_t, float>>{{1, losses[0]}, {2, losses[1]}, {3, losses[2]}}));
}

TEST_F(LoopSessionMonitoredTest, LeavesTheMemoryAloneIfTheCheckpointDoesNotFit) {
  Trainer first;
  train(first, 10);
  LoopSession other;
  std::vector<float> weights{5, 6, 7};
  other.variable("weights", weights);
  EXPECT_THROW((void)monitored_training_session(other, options(20)), InvalidArgumentError);
  EXPECT_EQ(weights, (std::vector<float>{5, 6, 7}));
  EXPECT_EQ(other.global_step(), 0);
}

TEST(LoopSession, EndsTheProgramIfItIsDestroyedBeforeItsSession) {
  const auto destroy_first = [](bool is_lost) {
    std::unique_ptr<MonitoredSession<LoopSession>> session;
    LoopSession loop;
    session.reset(new MonitoredSession<LoopSession>(monitored_training_session(loop)));
    if (is_lost) {
      try {
        session->run([] { throw AbortedError("gone"); });
      } catch (const Error&) {}
    }
  };
  EXPECT_DEATH(destroy_first(false), "a loop is destroyed before its session, which still uses it: declare the loop");
  EXPECT_DEATH(destroy_first(true), "a loop is destroyed before its session");
}

TEST(LoopSession, MayBeDestroyedInAForkedChildBeforeItsSession) {
  const QuietLog log;
  auto loop = std::make_unique<LoopSession>();
  auto session = monitored_training_session(*loop);
  EXPECT_EQ(testing::run_in_forked_child([&] { loop.reset(); }), 0);
  EXPECT_EQ(testing::run_in_forked_child([&] { session.run([] {}); }), 256) << "the child has no part in the session";
  session.run([] {});
  EXPECT_EQ(loop->global_step(), 1);
}

TEST(LoopSessionDeathTest, AStaticLoopMayBeDestroyedByExit) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        static LoopSession loop;
        const auto session = monitored_training_session(loop);
        std::exit(3);
      },
      ::testing::ExitedWithCode(3), "");
}

TEST(LoopSession, AnAllocationThatFailsIsAnError) {
  const support::TemporaryFolder folder;
  const auto train = [&](const std::string& directory) {
    Trainer trainer;
    auto session = monitored_training_session(trainer.loop, {.checkpoint_dir = directory,
                                                             .save_checkpoint_steps = 1,
                                                             .save_summaries_steps = 1,
                                                             .hooks = {StopAtStepHook({.last_step = 2})}});
    run_until_stop(session, [&] { session.run([&] { trainer.loss = trainer.step(); }); });
  };
  const QuietLog log;
  const support::AllocationCount count;
  train(folder.path() + "/whole");
  const std::size_t all = count.so_far();
  for (std::size_t before = 0; before < all; before += testing::kIsSanitized ? 211 : 11) {
    const int status = testing::run_in_forked_child([&] {
      support::fail_allocation_after(before);
      train(fmt::format("{}/{}", folder.path(), before));
    });
    EXPECT_TRUE(WIFEXITED(status)) << "after " << before << " allocations of " << all;
  }
}

TEST(LoopSession, MayBeDestroyedBeforeASessionThatHasEnded) {
  const QuietLog log;
  for (const bool throws : {false, true}) {
    std::unique_ptr<MonitoredSession<LoopSession>> session;
    LoopSession loop;
    session.reset(new MonitoredSession<LoopSession>(monitored_training_session(loop)));
    if (throws) {
      EXPECT_THROW(run_until_stop(*session, [] { throw std::runtime_error("no"); }), std::runtime_error);
    } else {
      session->close();
    }
  }
  LoopSession loop;
  EXPECT_THROW((void)monitored_training_session(loop, {.stop_grace_period_secs = std::chrono::seconds(-1)}), Error);
}

}  // namespace
}  // namespace trainhook
