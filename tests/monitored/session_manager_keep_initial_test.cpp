// SPDX-License-Identifier: Apache-2.0
/// @file
/// What a restart changes: values of the program that go before those of its checkpoint.
#include <trainhook/monitored/session_manager.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <trainhook/checkpoint/run_record.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/graph/variable.hpp>
#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/loop/loop_session.hpp>
#include <trainhook/monitored/monitored_training_session.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/manual_clock.hpp>
#include <trainhook/testing/memory_file_system.hpp>

#include "expect_error.hpp"

namespace trainhook {
namespace {

/// A process that adds its rate to a weight.
struct Program {
  explicit Program(double its_rate, OnResume on_resume = OnResume::KeepInitial) : rate(its_rate) {
    loop.variable("weight", weight);
    loop.variable("rate", rate, {.on_resume = on_resume});
  }
  double weight = 0;
  double rate;
  LoopSession loop;
};

class KeepInitialTest : public ::testing::Test {
 protected:
  MonitoredTrainingSessionOptions options(std::int64_t last_step) {
    return {.checkpoint_dir = "run",
            .save_checkpoint_steps = 10,
            .hooks = {StopAtStepHook({.last_step = last_step})},
            .file_system = &disk,
            .clock = &clock};
  }
  // `act` comes before each step, with the step's number.
  void train(Program& program, std::int64_t last_step, const std::function<void(std::int64_t)>& act = nullptr) {
    auto session = monitored_training_session(program.loop, options(last_step));
    run_until_stop(session, [&] {
      session.run([&] {
        if (act) act(program.loop.global_step());
        program.weight += program.rate;
      });
    });
  }
  std::string record() { return detail::read_run_record(disk, "run").value().restored; }

  testing::MemoryFileSystem disk;
  testing::ManualClock clock;
  testing::LogLines log;
};

TEST_F(KeepInitialTest, ARestartWithAnotherValueKeepsItAndSaysWhatItReplaces) {
  Program first(0.5);
  train(first, 10);
  EXPECT_EQ(log.count("The program's values"), 0U);
  EXPECT_EQ(record(), "");
  Program second(0.25);
  train(second, 20);
  EXPECT_EQ(second.weight, 7.5);
  EXPECT_EQ(log.count("I The program's values go before those of run/model.ckpt-10: 'rate' is float64[] 0.25 here and "
                      "was float64[] 0.5 there."),
            1U);
  const std::string change = "from run/model.ckpt-10: 'rate' is float64[] 0.25 here and was float64[] 0.5 there";
  EXPECT_EQ(record(), change);
  Program same(0.25);
  train(same, 30);
  EXPECT_EQ(same.weight, 10);
  EXPECT_EQ(record(), change);
  Program third(1);
  train(third, 40);
  EXPECT_EQ(record(), change + "; from run/model.ckpt-30: 'rate' is float64[] 1 here and was float64[] 0.25 there");
  EXPECT_EQ(log.count("The program's values"), 2U);
}

TEST_F(KeepInitialTest, WithoutItTheCheckpointHasTheLastWord) {
  Program first(0.5, OnResume::Restore);
  train(first, 10);
  Program second(0.25, OnResume::Restore);
  train(second, 20);
  EXPECT_EQ(second.weight, 10);
  EXPECT_EQ(log.count("The program's values"), 0U);
}

TEST_F(KeepInitialTest, ALostSessionGetsBackWhatItsCheckpointHas) {
  Program first(0.5);
  train(first, 10);
  Program second(0.25);
  std::string trace;
  bool early = true;
  bool late = true;
  train(second, 30, [&](std::int64_t step) {
    if (step == 12) second.rate = 8;
    if (step == 13 && std::exchange(early, false)) {
      second.rate = 9;
      throw AbortedError("lost before its first checkpoint");
    }
    if (step == 10) trace += fmt::format("{} at 10\n", second.rate);
    if (step == 23 && std::exchange(late, false)) {
      second.rate = 9;
      throw AbortedError("lost after a checkpoint");
    }
    if (step == 20) trace += fmt::format("{} at 20\n", second.rate);
  });
  EXPECT_EQ(trace, "0.25 at 10\n0.25 at 10\n8 at 20\n8 at 20\n") << "the program's, then what training made of it";
  EXPECT_EQ(log.count("The program's values"), 1U);
}

TEST_F(KeepInitialTest, ALostSessionOfARunThatBeganAnewGetsBackWhatItsCheckpointHas) {
  Program program(0.5);
  bool lose = true;
  std::string trace;
  train(program, 20, [&](std::int64_t step) {
    if (step == 5) program.rate = 2;
    if (step == 10) trace += fmt::format("{}\n", program.rate);
    if (step == 13 && std::exchange(lose, false)) throw AbortedError("lost");
  });
  EXPECT_EQ(trace, "2\n2\n");
  EXPECT_EQ(log.count("The program's values"), 0U);
}

TEST_F(KeepInitialTest, IsForOtherStateAndOtherMemoryToo) {
  struct Mixed {
    explicit Mixed(int value) : limit(value), number(value), list(static_cast<std::size_t>(value), value) {
      loop.state("limit", limit);
      keep_initial(loop.graph(), "_trainhook/state/limit");
      loop.variable(
          "number",
          {.dtype = DType::Int32,
           .shape = {},
           .read = [this](std::span<std::byte> to) { std::memcpy(to.data(), &number, sizeof number); },
           .write = [this](std::span<const std::byte> from) { std::memcpy(&number, from.data(), sizeof number); },
           .on_resume = OnResume::KeepInitial});
      loop.variable("list", list, {.resizable = true, .on_resume = OnResume::KeepInitial});
    }
    int limit;
    int number;
    std::vector<int> list;
    LoopSession loop;
  };
  for (const int value : {2, 3}) {
    Mixed mixed(value);
    auto session = monitored_training_session(mixed.loop, options(10 * value));
    run_until_stop(session, [&] { session.run([] {}); });
    EXPECT_EQ(mixed.limit, value);
    EXPECT_EQ(mixed.number, value);
    EXPECT_EQ(mixed.list, std::vector<int>(static_cast<std::size_t>(value), value));
  }
  EXPECT_EQ(record(),
            "from run/model.ckpt-20: '_trainhook/state/limit' is int32[] 3 here and was int32[] 2 there, 'number' is "
            "int32[] 3 here and was int32[] 2 there, 'list' is int32[3] [3 3 3] here and was int32[2] [2 2] there");
}

TEST_F(KeepInitialTest, AnEvaluationGetsTheValueOfTheCheckpoint) {
  Program first(0.5);
  train(first, 10);
  Program evaluation(0.25);
  auto only_restored = options(20);
  only_restored.save_checkpoint_steps = 0;
  const auto session = monitored_training_session(evaluation.loop, std::move(only_restored));
  EXPECT_EQ(evaluation.rate, 0.5);
}

TEST_F(KeepInitialTest, HoldsForEachSessionOfALoop) {
  Program program(0.5);
  train(program, 10);
  program.rate = 0.25;
  train(program, 20);
  EXPECT_EQ(program.rate, 0.25);
  EXPECT_EQ(program.weight, 7.5);
}

TEST_F(KeepInitialTest, MaySayItTwice) {
  for (const double rate : {0.5, 0.25}) {
    Program program(rate);
    keep_initial(program.loop.graph(), "rate");
    train(program, rate == 0.5 ? 10 : 20);
    EXPECT_EQ(program.rate, rate);
  }
}

TEST_F(KeepInitialTest, NamesWhatTheProgramDoesNotHave) {
  Program program(0.5);
  keep_initial(program.loop.graph(), "learning_rate");
  testing::expect_error<NotFoundError>({"the loop has no variable or state 'learning_rate'"},
                                       [&] { train(program, 10); });
}

}  // namespace
}  // namespace trainhook
