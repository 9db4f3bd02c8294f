// SPDX-License-Identifier: Apache-2.0
/// @file
/// Checkpoints that all ranks of a job write together: one of all ranks, or none.
#include <trainhook/ranks/peers.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <future>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/checkpoint/bundle/bundle_reader.hpp>
#include <trainhook/checkpoint/checkpoint_state.hpp>
#include <trainhook/checkpoint/saver.hpp>
#include <trainhook/hooks/async_checkpoint_saver_hook.hpp>
#include <trainhook/hooks/checkpoint_saver_hook.hpp>
#include <trainhook/hooks/checkpoint_saver_listener.hpp>
#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/monitored/monitored_training_session.hpp>
#include <trainhook/ranks/testing/threaded_ranks.hpp>
#include <trainhook/testing/faulty_file_system.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/memory_file_system.hpp>

namespace trainhook {
namespace {

using namespace std::chrono_literals;
using Options = MonitoredTrainingSessionOptions;
using Strings = std::vector<std::string>;

/// A model of four variables, whose elements all count the steps, and a generator that differs by rank.
struct Program {
  explicit Program(int number) : rank(number), noise(static_cast<unsigned>(number)) {
    for (std::size_t i = 0; i < weights.size(); ++i) loop.variable("w" + std::to_string(i), weights[i]);
    loop.state("noise", noise);
  }

  void step() {
    if (weights[0][0] == last_input) throw OutOfRangeError("no more");
    for (std::vector<float>& weight : weights)
      for (float& element : weight) ++element;
    drawn = noise();
  }

  int rank;
  float last_input = -1;  // the step after which the input ends
  std::vector<std::vector<float>> weights = {std::vector<float>(40), std::vector<float>(30), std::vector<float>(20),
                                             std::vector<float>(10)};
  std::mt19937 noise;
  std::mt19937::result_type drawn = 0;
  LoopSession loop;
};

class ShardedTest : public ::testing::Test {
 protected:
  using Change = std::function<void(Program& program, CheckpointSaverOptions& saves)>;
  using Step = std::function<void(Program& program, std::int64_t step)>;

  /// Trains until `last_step`, saving every 2 steps; returns how each rank ended: its error, or what it drew last.
  Strings train(int size, std::int64_t last_step, const Change& change = {}, const Step& after_step = {}) {
    testing::ThreadedRanks ranks(size);
    Strings ends(static_cast<std::size_t>(size));
    ranks.run([&](const std::shared_ptr<Collective>& collective) {
      Program program(collective->rank());
      std::string& end = ends[static_cast<std::size_t>(program.rank)];
      try {
        CheckpointSaverOptions saves{.checkpoint_dir = "run", .save_steps = 2};
        saves.saver = std::make_shared<Saver>(SaverOptions{.sharded = true, .refuse_non_finite = refuse_non_finite});
        if (change) change(program, saves);
        Options options{
            .peers = ranks::peers(collective, {.agree_every_n_steps = agree_every_n_steps, .max_wait_secs = 60s}),
            .checkpoint_dir = "run",
            .file_system = &faulty};
        options.hooks = {StopAtStepHook({.last_step = last_step})};
        if (program.rank == 0 && in_background) {
          hook = std::make_shared<AsyncCheckpointSaverHook>(saves);
          options.chief_only_hooks = {hook};
        }
        if (program.rank == 0 && !in_background) options.chief_only_hooks = {CheckpointSaverHook(saves)};
        if (program.rank == 0)
          options.chief_only_hooks.insert(options.chief_only_hooks.end(), more_hooks.begin(), more_hooks.end());
        auto session = monitored_training_session(program.loop, options);
        const auto step = [&] {
          session.run([&] { program.step(); });
          if (after_step) after_step(program, session.global_step());
        };
        if (asks_to_stop) {
          run_until_stop(session, step);
        } else {
          while (session.global_step() < last_step) step();
          session.close();
        }
        end = std::to_string(program.drawn);
      } catch (...) { end = describe(std::current_exception()); }
    });
    return ends;
  }

  std::string newest() { return latest_checkpoint(disk, "run").value_or("none"); }

  /// The step of a checkpoint, all of whose variables must be of that step; -1 if there is none.
  std::int64_t whole_step(const std::string& prefix) {
    if (prefix == "none") return -1;
    const BundleReader reader(prefix, {.file_system = &disk});
    reader.verify();
    const auto step = reader.get_tensor("global_step").scalar<std::int64_t>();
    for (const char* const name : {"w0", "w1", "w2", "w3"}) {
      const Tensor value = reader.get_tensor(name);
      for (const float element : value.data<float>()) EXPECT_EQ(element, static_cast<float>(step)) << name;
    }
    return step;
  }

  Strings files_with(const std::string& part) {
    Strings found;
    for (const std::string& path : disk.files())
      if (path.find(part) != std::string::npos) found.push_back(path);
    return found;
  }

  testing::LogLines log;
  /// An empty disk.
  void start_over(bool background) {
    in_background = background;
    disk.crash();
    for (const std::string& path : disk.files()) disk.remove_file(path);
    if (disk.is_directory("run")) disk.sync_directory("run");
    faulty.reset();
  }

  testing::MemoryFileSystem disk;
  testing::FaultyFileSystem faulty{disk};
  std::shared_ptr<AsyncCheckpointSaverHook> hook;  // of the chief
  HookList more_hooks;                             // of the chief
  std::int64_t agree_every_n_steps = 1;
  bool asks_to_stop = true;
  bool refuse_non_finite = false;
  bool in_background = false;
};

TEST_F(ShardedTest, EachRankWritesItsShareIntoOneCheckpoint) {
  const Strings ends = train(3, 3);
  EXPECT_EQ(newest(), "run/model.ckpt-3");
  EXPECT_EQ(whole_step(newest()), 3);
  EXPECT_EQ(files_with("ckpt-3.data"),
            (Strings{"run/model.ckpt-3.data-00000-of-00003", "run/model.ckpt-3.data-00001-of-00003",
                     "run/model.ckpt-3.data-00002-of-00003"}));
  EXPECT_EQ(files_with(".temp"), Strings());
  const BundleReader reader(newest(), {.file_system = &disk});
  EXPECT_EQ(reader.entry("w0").shard_id, 0U);  // 40 elements, 30, and 20 + 10
  EXPECT_EQ(reader.entry("global_step").shard_id, 0U);
  EXPECT_EQ(reader.entry("w1").shard_id, 1U);
  EXPECT_EQ(reader.entry("w2").shard_id, 2U);
  EXPECT_EQ(reader.entry("w3").shard_id, 2U);
  EXPECT_TRUE(reader.has_tensor("_trainhook/ranks/2/_trainhook/state/noise"));
}

TEST_F(ShardedTest, OnlyTheChiefOpensTheFilesOfAll) {
  train(4, 3);
  faulty.reset();
  train(4, 4);
  std::vector<int> opened(4);
  for (const std::string& operation : faulty.trace()) {
    const std::size_t number = operation.find("ckpt-3.data-0000");
    if (operation.starts_with("open_readable ") && number != std::string::npos)
      ++opened[static_cast<std::size_t>(operation[number + 16] - '0')];
  }
  // The chief checks and restores; each of the others checks, asks how many ranks there were, and restores its own.
  EXPECT_EQ(opened, (std::vector{2 + 3 * 3, 1, 1, 1}));
}

TEST_F(ShardedTest, AnotherNumberOfRanksContinues) {
  train(3, 3);
  train(1, 5);
  EXPECT_EQ(whole_step(newest()), 5);
  EXPECT_EQ(files_with("ckpt-5.data").size(), 1U);
  train(8, 8);
  EXPECT_EQ(whole_step(newest()), 8);
  EXPECT_EQ(files_with("ckpt-8.data").size(), 4U);  // there are only four that are trained
  train(2, 9);
  EXPECT_EQ(whole_step(newest()), 9);
}

TEST_F(ShardedTest, EndsInTheSameStateWithAndWithoutAnInterruption) {
  for (const bool background : {false, true}) {
    start_over(background);
    const Strings whole = train(3, 9);
    start_over(background);
    train(3, 4);
    EXPECT_EQ(train(3, 9), whole);
  }
}

TEST_F(ShardedTest, InTheBackgroundItIsOfTheStepAtWhichItWasTaken) {
  start_over(true);
  class StopsAfterASave final : public CheckpointSaverListener {
   public:
    explicit StopsAfterASave(std::function<void(std::int64_t)> check) : check_(std::move(check)) {}
    bool after_save(SessionRef, std::int64_t step) override {
      check_(step);
      return step > 0;
    }

   private:
    std::function<void(std::int64_t)> check_;
  };
  std::vector<std::int64_t> steps;
  train(3, 1'000'000, [&](Program&, CheckpointSaverOptions& saves) {
    saves.listeners = {std::make_shared<StopsAfterASave>([&](std::int64_t step) {
      EXPECT_EQ(whole_step("run/model.ckpt-" + std::to_string(step)), step);
      steps.push_back(step);
    })};
  });
  ASSERT_EQ(steps.size(), 3U);
  EXPECT_EQ(steps[0], 0);
  EXPECT_GT(steps[2], steps[1]) << "training went on meanwhile";
  EXPECT_EQ(whole_step(newest()), steps[2]);
  EXPECT_EQ(files_with(".temp"), Strings());
}

TEST_F(ShardedTest, InTheBackgroundALoopMayWaitForTheSaveBefore) {
  for (const SaveOverlap overlap : {SaveOverlap::Wait, SaveOverlap::Replace}) {
    start_over(true);
    train(2, 10, [&](Program&, CheckpointSaverOptions& saves) { saves.overlap = overlap; });
    if (overlap == SaveOverlap::Wait) {  // with Replace, how many there are depends on the threads
      EXPECT_EQ(files_with(".index").size(), 5U) << "of 0, 2, 4, 6, 8 and 10, all but the first are kept";
    }
    EXPECT_EQ(whole_step(newest()), 10);
  }
}

TEST_F(ShardedTest, InTheBackgroundTheChiefCannotWaitBetweenStepsForWhatComesAtTheirEnds) {
  start_over(true);
  std::promise<void> is_asked;
  faulty.set_callback([asked = is_asked.get_future().share()](testing::FileOperation, const std::string& path) {
    if (path.find("ckpt-0.data-00001") != std::string::npos) asked.wait();
  });
  std::string error;
  const Strings ends = train(2, 3, {}, [&](Program& program, std::int64_t step) {
    if (program.rank != 0 || step != 1) return;
    try {
      hook->wait_until_written();
    } catch (const FailedPreconditionError& refusal) { error = refusal.what(); }
    is_asked.set_value();
  });
  EXPECT_EQ(error.find("AsyncCheckpointSaverHook: other processes of the job have a part in the checkpoint"), 0U)
      << error;
  EXPECT_EQ(ends[0].find(':'), std::string::npos) << ends[0];
  EXPECT_EQ(whole_step(newest()), 3);
}

TEST_F(ShardedTest, ARankThatCannotWriteItsPartIsNamedAndNothingIsLeft) {
  for (const bool background : {false, true}) {
    start_over(background);
    faulty.set_callback([](testing::FileOperation operation, const std::string& path) {
      if (operation == testing::FileOperation::Append && path.find("ckpt-4.data-00001") != std::string::npos)
        throw ResourceExhaustedError("{}: the disk is full", path);
    });
    const Strings ends =
        train(3, 9, [](Program&, CheckpointSaverOptions& saves) { saves.overlap = SaveOverlap::Wait; });
    EXPECT_EQ(ends[0].find("ResourceExhausted: rank 1 could not write its part: run/model.ckpt-4.data-00001"), 0U)
        << ends[0];
    EXPECT_EQ(ends[2].find("ResourceExhausted: rank 0 has failed: rank 1 could not write its part"), 0U) << ends[2];
    EXPECT_EQ(whole_step(newest()), 2);
    EXPECT_EQ(files_with("ckpt-4"), Strings());
  }
}

TEST_F(ShardedTest, AStateFileThatCannotBeReadFailsTheSaveAndNothingIsLeft) {
  for (const bool background : {false, true}) {
    start_over(background);
    (void)train(2, 4);
    std::atomic<bool> is_restored = false;
    faulty.set_callback([&](testing::FileOperation operation, const std::string& path) {
      if (is_restored && operation == testing::FileOperation::OpenReadable && path == "run/checkpoint")
        throw PermissionDeniedError("cannot open {}", path);
    });
    const Strings ends = train(2, 8, {}, [&](Program&, std::int64_t) { is_restored = true; });
    faulty.set_callback({});
    EXPECT_EQ(ends[0].find("PermissionDenied: cannot open run/checkpoint"), 0U) << ends[0];
    EXPECT_EQ(whole_step(newest()), 4);
    EXPECT_EQ(files_with("ckpt-6"), Strings());
  }
}

TEST_F(ShardedTest, AFailureThatIsToleratedLeavesNothingAndTheNextSaveWorks) {
  for (const bool background : {false, true}) {
    for (const char* const where : {"ckpt-4.data-00000", "ckpt-4.data-00002", "ckpt-4.index"}) {
      start_over(background);
      faulty.set_callback([where](testing::FileOperation operation, const std::string& path) {
        if (operation == testing::FileOperation::CreateWritable && path.find(where) != std::string::npos)
          throw ResourceExhaustedError("{}: the disk is full", path);
      });
      const Strings ends = train(3, 7, [&](Program&, CheckpointSaverOptions& saves) {
        saves.tolerated_save_failures = 1;
        saves.overlap = SaveOverlap::Wait;
      });
      EXPECT_EQ(ends[0].find(':'), std::string::npos) << ends[0];
      EXPECT_EQ(files_with("ckpt-4"), Strings()) << where;
      EXPECT_EQ(files_with(".temp"), Strings()) << where;
      EXPECT_EQ(whole_step("run/model.ckpt-6"), 6);
      EXPECT_EQ(whole_step(newest()), 7);
    }
  }
}

TEST_F(ShardedTest, ARankThatFailsInASaveThatMayFailEndsAllByItsError) {
  const Strings ends = train(
      2, 9, [](Program&, CheckpointSaverOptions& saves) { saves.tolerated_save_failures = 1; },
      [](Program& program, std::int64_t step) {
        if (program.rank == 1 && step == 3) throw InvalidArgumentError("a torn record");
      });
  EXPECT_EQ(ends[1], "InvalidArgument: a torn record");
  EXPECT_EQ(ends[0], "InvalidArgument: rank 1 has failed: a torn record");
  EXPECT_EQ(whole_step(newest()), 2);
}

TEST_F(ShardedTest, RanksThatHaveEndedAtOtherStepsHaveNoPart) {
  for (const bool background : {false, true}) {
    start_over(background);
    const Strings ends = train(3, 9, [](Program& program, CheckpointSaverOptions&) {
      if (program.rank == 1) program.last_input = 3;  // the others make one step more
    });
    EXPECT_EQ(ends[1].find(':'), std::string::npos) << ends[1];
    EXPECT_EQ(newest(), "run/model.ckpt-4");
    EXPECT_EQ(whole_step(newest()), 4);
    EXPECT_EQ(files_with("ckpt-4.data").size(), 1U);
    EXPECT_EQ(files_with(".temp"), Strings());
    EXPECT_GT(log.count("rank 0 writes all of the checkpoint of step 4, because rank 1 has ended at step 3"), 0U);
  }
}

TEST_F(ShardedTest, TwoHooksMayShareASaver) {
  const auto saver = std::make_shared<Saver>(SaverOptions{.sharded = true});
  for (const bool background : {false, true}) {
    start_over(background);
    const Strings ends = train(2, 9, [&](Program& program, CheckpointSaverOptions& saves) {
      saves.saver = saver;
      if (program.rank == 0)
        more_hooks = {AsyncCheckpointSaverHook({.checkpoint_dir = "other", .save_steps = 1, .saver = saver})};
    });
    EXPECT_EQ(ends[0].find(':'), std::string::npos) << ends[0];
    EXPECT_EQ(whole_step(newest()), 9);
    EXPECT_EQ(whole_step(latest_checkpoint(disk, "other").value_or("none")), 9);
    EXPECT_EQ(files_with(".temp"), Strings());
    more_hooks = {};
    for (const std::string& path : files_with("other")) disk.remove_file(path);
  }
}

TEST_F(ShardedTest, ASaverWithItsOwnDiskIsTheChiefsAlone) {
  testing::MemoryFileSystem own;
  train(2, 3, [&](Program&, CheckpointSaverOptions& saves) {
    saves.saver = std::make_shared<Saver>(SaverOptions{.sharded = true, .file_system = &own});
  });
  const BundleReader reader("run/model.ckpt-3", {.file_system = &own});
  EXPECT_EQ(reader.entry("w1").shard_id, 0U);
}

TEST_F(ShardedTest, AListenerThatThrowsBeforeASaveLeavesNothing) {
  class Fails final : public CheckpointSaverListener {
    void before_save(SessionRef, std::int64_t step) override {
      if (step == 4) throw UnavailableError("the disk is away");
    }
  };
  for (const bool background : {false, true}) {
    start_over(background);
    train(3, 6, [](Program&, CheckpointSaverOptions& saves) {
      saves.listeners = {std::make_shared<Fails>()};
      saves.tolerated_save_failures = 1;
      saves.overlap = SaveOverlap::Wait;
    });
    EXPECT_EQ(whole_step(newest()), 6);
    EXPECT_EQ(files_with("ckpt-4"), Strings());
  }
}

TEST_F(ShardedTest, RanksMayAgreeRarelyOrNeverAskWhetherToStop) {
  for (const bool background : {false, true}) {
    for (const bool asks : {false, true}) {
      start_over(background);
      agree_every_n_steps = 3;
      asks_to_stop = asks;
      const Strings ends = train(3, 14);
      EXPECT_EQ(ends[0].find(':'), std::string::npos) << ends[0];
      EXPECT_EQ(whole_step(newest()), 14);
      EXPECT_EQ(files_with(".temp"), Strings());
    }
  }
}

TEST_F(ShardedTest, NaNInAnyPartIsRefused) {
  refuse_non_finite = true;
  const Strings ends = train(3, 9, {}, [](Program& program, std::int64_t step) {
    if (step == 3) program.weights[1][7] = std::numeric_limits<float>::quiet_NaN();
  });
  EXPECT_NE(ends[0].find("rank 1 could not write its part: checkpoint run/model.ckpt-4 is not written: element 7 of "
                         "'w1' is NaN or infinite"),
            std::string::npos)
      << ends[0];
  EXPECT_EQ(whole_step(newest()), 2);
}

TEST_F(ShardedTest, WhereverTheDiskIsLostThereIsAWholeCheckpointOrNone) {
  for (const bool background : {false, true}) {
    bool has_ended = false;
    for (std::uint64_t n = 20; !has_ended; n += background ? 23 : 13) {
      start_over(background);
      faulty.fail_from(n);
      const Strings ends = train(3, 5);
      has_ended = ends[0].find(':') == std::string::npos;
      disk.crash();
      faulty.reset();
      const std::int64_t step = whole_step(newest());
      EXPECT_LE(step, 5);
      train(3, 7);
      EXPECT_EQ(whole_step(newest()), 7) << "operation " << n;
      EXPECT_EQ(files_with(".temp"), Strings()) << "operation " << n;
    }
  }
}

}  // namespace
}  // namespace trainhook
