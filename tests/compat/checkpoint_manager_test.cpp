// SPDX-License-Identifier: Apache-2.0
/// @file
/// CheckpointManager: what it keeps, how it numbers, and what a manager that is created again goes on with.
#include <trainhook/compat/checkpoint_manager.hpp>

#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/checkpoint/checkpoint_files.hpp>
#include <trainhook/checkpoint/checkpoint_state.hpp>
#include <trainhook/checkpoint/load_checkpoint.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/loop/loop_session.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/manual_clock.hpp>
#include <trainhook/testing/memory_file_system.hpp>
#include <trainhook/testing/scripted_session.hpp>

namespace trainhook {
namespace {

using namespace std::chrono_literals;
using testing::ScriptedSession;
using Prefixes = std::vector<std::string>;

class CheckpointManagerTest : public ::testing::Test {
 protected:
  CheckpointManager manager(std::optional<int> max_to_keep, CheckpointManagerOptions options = {}) {
    options.file_system = &disk_;
    options.clock = &clock_;
    return {"run", max_to_keep, std::move(options)};
  }
  CheckpointManager counting_manager(std::int64_t interval) {
    return manager(5, {.step_counter = "global_step", .checkpoint_interval = interval});
  }
  void set_step(std::int64_t step) { session_.variable("global_step") = Tensor(step); }
  bool exists(const std::string& prefix) { return checkpoint_exists(disk_, prefix); }
  Prefixes listed() { return get_checkpoint_state(disk_, "run")->all_model_checkpoint_paths; }

  testing::LogLines log_;
  testing::MemoryFileSystem disk_;
  testing::ManualClock clock_;
  testing::Script script_;
  ScriptedSession session_{script_};
};

TEST_F(CheckpointManagerTest, K13_KeepsTheNewest) {
  CheckpointManager kept = manager(3);
  EXPECT_EQ(kept.latest_checkpoint(), std::nullopt);
  EXPECT_EQ(kept.checkpoints(), Prefixes{});
  for (int i = 1; i <= 4; ++i) EXPECT_EQ(kept.save(session_), "run/ckpt-" + std::to_string(i));
  EXPECT_EQ(kept.latest_checkpoint(), "run/ckpt-4");
  EXPECT_EQ(kept.checkpoints(), (Prefixes{"run/ckpt-2", "run/ckpt-3", "run/ckpt-4"}));
  EXPECT_FALSE(exists("run/ckpt-1"));
  for (const std::string& prefix : kept.checkpoints()) EXPECT_TRUE(exists(prefix)) << prefix;
}

TEST_F(CheckpointManagerTest, K14_KeepsAllUntilAManagerWithANumberSaves) {
  const Prefixes all = {"run/ckpt-1", "run/ckpt-2", "run/ckpt-3", "run/ckpt-4"};
  {
    CheckpointManager first = manager({});
    for (int i = 0; i < 3; ++i) first.save(session_);
  }
  {
    CheckpointManager second = manager({});
    EXPECT_EQ(second.checkpoints(), Prefixes(all.begin(), all.begin() + 3));
    second.save(session_);
    EXPECT_EQ(second.checkpoints(), all);
    EXPECT_EQ(listed(), all);
  }
  CheckpointManager shrunk = manager(3);
  EXPECT_EQ(shrunk.checkpoints(), all);
  shrunk.save(session_);
  EXPECT_EQ(shrunk.checkpoints(), (Prefixes{"run/ckpt-3", "run/ckpt-4", "run/ckpt-5"}));
  EXPECT_EQ(listed(), shrunk.checkpoints());
  EXPECT_FALSE(exists("run/ckpt-1"));
  EXPECT_FALSE(exists("run/ckpt-2"));
}

TEST_F(CheckpointManagerTest, K16_ContinuesWithCheckpointsThatItDidNotWrite) {
  Saver other({.file_system = &disk_, .clock = &clock_});
  for (const std::int64_t number : {1, 2}) {
    set_step(10 * number);
    other.save(session_, {.save_path = "run/unusual_prefix", .global_step = number});
  }
  CheckpointManager kept = manager(2);
  EXPECT_EQ(kept.restore_or_initialize(session_), "run/unusual_prefix-2");
  EXPECT_EQ(session_.variable("global_step"), Tensor(std::int64_t{20}));
  EXPECT_EQ(kept.save(session_), "run/ckpt-3");
  EXPECT_EQ(kept.checkpoints(), Prefixes{"run/ckpt-3"});
  kept.save(session_);
  kept.save(session_);
  EXPECT_EQ(kept.checkpoints(), (Prefixes{"run/ckpt-4", "run/ckpt-5"}));
  EXPECT_TRUE(exists("run/unusual_prefix-1"));
  EXPECT_TRUE(exists("run/unusual_prefix-2"));
  EXPECT_FALSE(exists("run/ckpt-3"));
}

TEST_F(CheckpointManagerTest, K18_TakesTheNumberOfTheCaller) {
  CheckpointManager kept = manager(2);
  for (std::int64_t step = 0; step < 10; step += 2)
    EXPECT_EQ(kept.save(session_, step), "run/ckpt-" + std::to_string(step));
  EXPECT_EQ(kept.save(session_, 32), "run/ckpt-32");
  EXPECT_EQ(listed(), (Prefixes{"run/ckpt-8", "run/ckpt-32"}));
  EXPECT_EQ(kept.save(session_, 8), "run/ckpt-8");  // saved again, so the newest
  EXPECT_EQ(kept.latest_checkpoint(), "run/ckpt-8");
  EXPECT_EQ(kept.checkpoints(), (Prefixes{"run/ckpt-32", "run/ckpt-8"}));
}

TEST_F(CheckpointManagerTest, K19_UsesTheNameThatIsGiven) {
  CheckpointManager kept = manager(2, {.checkpoint_name = "ckpt_name"});
  EXPECT_EQ(kept.save(session_), "run/ckpt_name-1");
  EXPECT_EQ(kept.save(session_), "run/ckpt_name-2");
}

TEST_F(CheckpointManagerTest, K20_InitializesIfThereIsNoCheckpoint) {
  int initialized = 0;
  CheckpointManager kept = manager(2, {.init_fn = [&](SessionRef session) {
                                     ++initialized;
                                     const std::vector<NamedTensor> step = {{"global_step", Tensor(std::int64_t{5})}};
                                     session.load(step);
                                   }});
  EXPECT_EQ(kept.restore_or_initialize(session_), std::nullopt);
  EXPECT_EQ(session_.variable("global_step"), Tensor(std::int64_t{5}));
  const std::optional<std::string> saved = kept.save(session_);
  set_step(9);
  EXPECT_EQ(kept.restore_or_initialize(session_), saved);
  EXPECT_EQ(session_.variable("global_step"), Tensor(std::int64_t{5}));
  EXPECT_EQ(initialized, 1);
  EXPECT_EQ(manager({}).restore_or_initialize(session_), saved);  // no init_fn
}

TEST_F(CheckpointManagerTest, K22_ARestoredStepIsNotSavedAgain) {
  EXPECT_EQ(counting_manager(2).save(session_), "run/ckpt-1");
  CheckpointManager kept = counting_manager(2);
  EXPECT_EQ(kept.restore_or_initialize(session_), "run/ckpt-1");
  EXPECT_EQ(kept.save(session_), std::nullopt);
  EXPECT_EQ(kept.checkpoints(), Prefixes{"run/ckpt-1"});
}

TEST_F(CheckpointManagerTest, NamesWhatTheSessionLacksBeforeTheFirstSaveThatLeavesItOut) {
  float weight = 1, slot = 2;
  {
    LoopSession adam;
    adam.variable("weight", weight);
    adam.variable("weight/Adam", slot);
    static_cast<void>(manager(5).save(adam));
  }
  LoopSession sgd;
  sgd.variable("weight", weight);
  CheckpointManager resumed = manager(5);
  EXPECT_EQ(resumed.restore_or_initialize(sgd), "run/ckpt-1");
  const std::string line =
      "W checkpoint run/ckpt-1 has 1 name that nothing here takes, and the next save leaves out: "
      "'weight/Adam'";
  for (int i = 0; i < 2; ++i) {
    static_cast<void>(resumed.save(sgd));
    EXPECT_EQ(log_.count(line), 1U);
  }
}

TEST_F(CheckpointManagerTest, AResumeThatLacksStateIsAnError) {
  std::int64_t seen = 1;
  LoopSession before;
  static_cast<void>(manager(5).save(before));
  LoopSession now;
  now.state("seen", seen);
  EXPECT_THROW(manager(5).restore_or_initialize(now), NotFoundError);
}

TEST_F(CheckpointManagerTest, SavesOnlyIfTheIntervalIsOver) {
  CheckpointManager kept = counting_manager(3);
  Prefixes saved;
  for (std::int64_t step = 0; step < 8; ++step) {
    set_step(step);
    saved.push_back(kept.save(session_).value_or("-"));
  }
  EXPECT_EQ(saved, (Prefixes{"run/ckpt-1", "-", "-", "run/ckpt-2", "-", "-", "run/ckpt-3", "-"}));
  EXPECT_EQ(kept.save(session_, 70, false), "run/ckpt-70");  // the interval does not count
  EXPECT_EQ(kept.save(session_, 71, false), std::nullopt);   // but the step is saved
}

TEST_F(CheckpointManagerTest, OneInSoManyHoursIsKeptPermanently) {
  CheckpointManager kept = manager(1, {.keep_checkpoint_every_n_hours = 2});
  for (int i = 0; i < 5; ++i) {
    clock_.advance(1h);
    kept.save(session_);
  }
  EXPECT_EQ(kept.checkpoints(), Prefixes{"run/ckpt-5"});
  EXPECT_EQ(checkpoints_on_disk(disk_, "run"), (Prefixes{"run/ckpt-2", "run/ckpt-4", "run/ckpt-5"}));
}

TEST_F(CheckpointManagerTest, ADamagedCheckpointIsSkipped) {
  CheckpointManager kept = manager(3);
  kept.save(session_);
  set_step(7);
  kept.save(session_);
  disk_.create_writable("run/ckpt-2.index", WriteMode::Truncate)->close();
  EXPECT_EQ(kept.restore_or_initialize(session_), "run/ckpt-1");
  EXPECT_EQ(session_.variable("global_step"), Tensor(std::int64_t{0}));
  disk_.create_writable("run/ckpt-1.index", WriteMode::Truncate)->close();
  EXPECT_THROW(kept.restore_or_initialize(session_), DataLossError);
}

TEST_F(CheckpointManagerTest, APlainLoopIsSavedAndRestored) {
  float weight = 1;
  LoopSession loop;
  loop.variable("weight", weight);
  loop.open();
  CheckpointManager kept = manager(2, {.step_counter = "global_step", .checkpoint_interval = 2});
  EXPECT_EQ(kept.restore_or_initialize(loop), std::nullopt);
  for (int i = 0; i < 4; ++i) {
    loop.run([&] { weight *= 2; });
    kept.save(loop, loop.global_step());
  }
  EXPECT_EQ(kept.checkpoints(), (Prefixes{"run/ckpt-1", "run/ckpt-3"}));
  EXPECT_EQ(kept.restore_or_initialize(loop), "run/ckpt-3");
  EXPECT_EQ(weight, 8);
  EXPECT_EQ(loop.global_step(), 3);
}

TEST_F(CheckpointManagerTest, KeepsTheDirectoryInWhichItWasMade) {
  disk_.make_directories("/home");
  disk_.make_directories("/elsewhere");
  disk_.change_directory("/home");
  CheckpointManager kept = manager(3);
  disk_.change_directory("/elsewhere");
  EXPECT_EQ(kept.save(session_), "run/ckpt-1") << "as the user named it";
  EXPECT_EQ(kept.latest_checkpoint(), "run/ckpt-1");
  EXPECT_TRUE(disk_.list_directory("/elsewhere").empty());
  EXPECT_EQ(disk_.list_directory("/home"), Prefixes{"run"});
}

TEST_F(CheckpointManagerTest, RefusesWhatCannotBe) {
  EXPECT_THROW(static_cast<void>(manager(0)), InvalidArgumentError);
  EXPECT_THROW(static_cast<void>(manager(-1)), InvalidArgumentError);
  EXPECT_THROW(static_cast<void>(manager(1, {.checkpoint_interval = 2})), InvalidArgumentError);
  CheckpointManager kept = manager(1, {.step_counter = "steps", .checkpoint_interval = 2});
  EXPECT_THROW(kept.save(session_), NotFoundError);
}

}  // namespace
}  // namespace trainhook
