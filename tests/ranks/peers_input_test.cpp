// SPDX-License-Identifier: Apache-2.0
/// @file
/// CheckpointInputPipelineHook in a job: the inputs of all ranks are saved with the model, or none is.
#include <trainhook/ranks/peers.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <trainhook/checkpoint/bundle/bundle_reader.hpp>
#include <trainhook/checkpoint/checkpoint_files.hpp>
#include <trainhook/checkpoint/checkpoint_state.hpp>
#include <trainhook/checkpoint/iterator_saveable.hpp>
#include <trainhook/checkpoint/saver.hpp>
#include <trainhook/data/dataset.hpp>
#include <trainhook/data/iterator.hpp>
#include <trainhook/hooks/async_checkpoint_saver_hook.hpp>
#include <trainhook/hooks/checkpoint_input_pipeline_hook.hpp>
#include <trainhook/hooks/checkpoint_saver_hook.hpp>
#include <trainhook/hooks/lambda_hook.hpp>
#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/loop/loop_iterator.hpp>
#include <trainhook/monitored/monitored_training_session.hpp>
#include <trainhook/ranks/testing/threaded_ranks.hpp>
#include <trainhook/testing/faulty_file_system.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/memory_file_system.hpp>

namespace trainhook {
namespace {

using namespace std::chrono_literals;
using testing::FileOperation;
using Options = MonitoredTrainingSessionOptions;
using Numbers = std::vector<std::int64_t>;
using Strings = std::vector<std::string>;

/// What a rank takes in each step, and how it ended.
struct Trace {
  std::int64_t begin = -1;  ///< the step at which it began
  std::vector<Numbers> steps{};
  std::string error{};
};

class RanksInputTest : public ::testing::Test {
 protected:
  static constexpr std::int64_t kBatch = 12;

  using Change = std::function<void(int rank, LoopSession& loop, Options& options)>;

  /// Trains with so many ranks until `last_step`, and saves every `save_steps` and at the end.
  std::vector<Trace> train(int size, std::int64_t last_step, const Change& change = {}) {
    testing::ThreadedRanks ranks(size);
    std::vector<Trace> traces(static_cast<std::size_t>(size));
    ranks.run([&](const std::shared_ptr<Collective>& collective) {
      Trace& trace = traces[static_cast<std::size_t>(collective->rank())];
      float weight = 0;
      LoopSession loop;
      loop.variable("weight", weight);
      Iterator& input =
          make_iterator(loop, is_global ? Dataset::range(1000).batch(kBatch) : Dataset::range(1000), "input");
      Options options{.peers = ranks::peers(collective, {.max_wait_secs = 60s}),
                      .checkpoint_dir = "run",
                      .save_checkpoint_steps = save_steps,
                      .file_system = collective->rank() == 0 ? static_cast<FileSystem*>(&faulty) : &*disk};
      options.hooks = {StopAtStepHook({.last_step = last_step})};
      if (with_hook) options.hooks.emplace_back(CheckpointInputPipelineHook());
      try {
        if (change) change(collective->rank(), loop, options);
        auto session = monitored_training_session(loop, options);
        trace.begin = session.global_step();
        run_until_stop(session, [&] {
          Numbers taken;
          session.run([&] {
            ++weight;
            taken = take(input, collective->rank(), size);
          });
          trace.steps.push_back(taken);
        });
      } catch (...) { trace.error = describe(std::current_exception()); }
    });
    return traces;
  }

  /// The rank's rows of a batch, or so many elements that the positions of the ranks differ.
  [[nodiscard]] Numbers take(Iterator& input, int rank, int size) const {
    Element element;
    Numbers taken;
    for (int i = 0; i <= (is_global ? 0 : rank); ++i) {
      input.get_next(element);
      const auto values = element[0].data<std::int64_t>();
      taken.insert(taken.end(), values.begin(), values.end());
    }
    if (!is_global) return taken;
    return {taken.begin() + kBatch * rank / size, taken.begin() + kBatch * (rank + 1) / size};
  }

  /// What all ranks take together, in the order of the steps and ranks.
  static Numbers taken_by_all(const std::vector<Trace>& traces) {
    Numbers taken;
    for (std::size_t step = 0; step < traces.front().steps.size(); ++step) {
      for (const Trace& trace : traces)
        taken.insert(taken.end(), trace.steps.at(step).begin(), trace.steps.at(step).end());
    }
    return taken;
  }
  static std::string errors(const std::vector<Trace>& traces) {
    std::string text;
    for (const Trace& trace : traces) text += trace.error;
    return text;
  }

  /// That the ranks began at that step and took from there what the ranks of `whole` took.
  static void expect_goes_on(const std::vector<Trace>& traces, std::int64_t step, const std::vector<Trace>& whole) {
    ASSERT_EQ(errors(traces), "");
    for (std::size_t rank = 0; rank < traces.size(); ++rank) {
      ASSERT_EQ(traces[rank].begin, step) << "rank " << rank;
      EXPECT_EQ(traces[rank].steps, std::vector<Numbers>(whole[rank].steps.begin() + step, whole[rank].steps.end()))
          << "rank " << rank;
    }
  }

  /// The names of the files that have a complete checkpoint of an input.
  Strings input_files() {
    Strings names;
    for (const std::string& prefix : checkpoints_on_disk(*disk, "run"))
      if (prefix.starts_with("run/input")) names.push_back(prefix.substr(4));
    std::ranges::sort(names);
    return names;
  }
  Strings listed() {
    Strings names;
    const auto state = get_checkpoint_state(*disk, "run", "checkpoint_input");
    for (const std::string& prefix : state.value_or(CheckpointState{}).all_model_checkpoint_paths)
      names.push_back(prefix.substr(4));
    return names;
  }
  std::int64_t saved_step() {
    const auto newest = latest_checkpoint(*disk, "run");
    return newest ? step_of_checkpoint(*newest).value() : -1;
  }
  void use_new_disk() {
    disk.emplace();
    faulty.reset();
  }

  testing::LogLines log;
  bool is_global = false;  // each rank takes its rows of the same batches
  bool with_hook = true;
  std::int64_t save_steps = 1000;
  std::optional<testing::MemoryFileSystem> disk{std::in_place};
  testing::FaultyFileSystem faulty{*disk};  // of rank 0
};

TEST_F(RanksInputTest, EachRankContinuesFromItsOwnPosition) {
  for (const int size : {1, 2, 3}) {
    use_new_disk();
    const std::vector<Trace> whole = train(size, 12);
    use_new_disk();
    train(size, 7);
    expect_goes_on(train(size, 12), 7, whole);
  }
}

TEST_F(RanksInputTest, EachRankHasItsOwnFilesAndTheModelHasNoPosition) {
  train(2, 3);
  EXPECT_EQ(input_files(), (Strings{"input_worker_0.ckpt-0", "input_worker_0.ckpt-3", "input_worker_1.ckpt-0",
                                    "input_worker_1.ckpt-3"}));
  EXPECT_EQ(listed(), (Strings{"input_worker_0.ckpt-0", "input_worker_1.ckpt-0", "input_worker_0.ckpt-3",
                               "input_worker_1.ckpt-3"}));
  const BundleReader model("run/model.ckpt-3", {.file_system = &*disk});
  for (const auto& [name, entry] : model.entries()) EXPECT_EQ(name.find("input"), std::string::npos) << name;
}

TEST_F(RanksInputTest, AJobOfOneHasTheFilesOfAProcessAlone) {
  train(1, 3);
  EXPECT_EQ(input_files(), (Strings{"input.ckpt-0", "input.ckpt-3"}));
}

TEST_F(RanksInputTest, ComesBackFromABackgroundSave) {
  const auto change = [](int rank, LoopSession&, Options& options) {
    options.save_checkpoint_steps.reset();
    if (rank == 0) options.chief_only_hooks = {AsyncCheckpointSaverHook({.checkpoint_dir = "run", .save_steps = 2})};
  };
  const std::vector<Trace> whole = train(3, 12, change);
  use_new_disk();
  train(3, 7, change);
  expect_goes_on(train(3, 12, change), 7, whole);
}

TEST_F(RanksInputTest, AKilledJobContinuesAsOneThatWasNotWhereverTheKillFell) {
  save_steps = 2;
  const std::vector<Trace> whole = train(2, 8);
  const std::uint64_t operations = faulty.count();
  ASSERT_GT(operations, 100U);
  std::vector<std::int64_t> begins;
  for (std::uint64_t kill_at = 1; kill_at <= operations; kill_at += 3) {
    SCOPED_TRACE(fmt::format("killed at operation {}", kill_at));
    use_new_disk();
    faulty.fail_from(kill_at);
    train(2, 8);
    faulty.reset();
    const std::vector<Trace> resumed = train(2, 8);
    begins.push_back(resumed[0].begin);
    expect_goes_on(resumed, resumed[0].begin, whole);
    if (HasFailure()) return;
  }
  EXPECT_TRUE(std::ranges::is_sorted(begins));
  EXPECT_EQ(begins.back(), 8);
}

TEST_F(RanksInputTest, AFileThatCannotBeWrittenMakesTheSaveFailForAll) {
  faulty.set_callback([](FileOperation operation, const std::string& path) {
    if (operation == FileOperation::CreateWritable && path.starts_with("run/input_worker_1.ckpt-3"))
      throw ResourceExhaustedError("the disk is full");
  });
  const std::vector<Trace> traces = train(2, 3);
  EXPECT_EQ(traces[0].error, "ResourceExhausted: the disk is full");
  EXPECT_EQ(traces[1].error, "ResourceExhausted: rank 0 has failed: the disk is full");
  EXPECT_EQ(saved_step(), 0);
  faulty.set_callback({});
  EXPECT_EQ(train(2, 4)[1].begin, 0);
  EXPECT_EQ(input_files(), (Strings{"input_worker_0.ckpt-0", "input_worker_0.ckpt-4", "input_worker_1.ckpt-0",
                                    "input_worker_1.ckpt-4"}))
      << "the one of step 3, whose model was not saved, is gone";
}

TEST_F(RanksInputTest, ARankWhoseInputCannotBeTakenMakesTheSaveFailForAll) {
  const std::vector<Trace> traces = train(2, 3, [](int rank, LoopSession& loop, Options&) {
    if (rank == 1)
      loop.state(
          "note", []() -> std::string { throw DataLossError("nothing to save"); }, [](const std::string&) {});
  });
  EXPECT_EQ(traces[1].error, "DataLoss: nothing to save");
  EXPECT_EQ(saved_step(), -1);
  EXPECT_EQ(input_files(), Strings());
}

TEST_F(RanksInputTest, AVetoOfARankHoldsForTheInputOfAll) {
  class Objects final : public SessionRunHook {
    [[nodiscard]] std::optional<std::string> veto_save() override { return "not now"; }
  };
  const std::vector<Trace> traces = train(2, 3, [](int rank, LoopSession&, Options& options) {
    if (rank == 1) options.hooks.emplace_back(Objects());
  });
  EXPECT_EQ(errors(traces), "");
  EXPECT_EQ(input_files(), Strings());
}

TEST_F(RanksInputTest, NoFileIsDeletedThatAModelNeedsAndNoOtherStays) {
  save_steps = 2;
  train(2, 13, [](int rank, LoopSession&, Options& options) {
    options.save_checkpoint_steps.reset();
    const auto saver = std::make_shared<Saver>(SaverOptions{.max_to_keep = 2});
    if (rank == 0)
      options.chief_only_hooks = {CheckpointSaverHook({.checkpoint_dir = "run", .save_steps = 2, .saver = saver})};
  });
  EXPECT_EQ(input_files(), (Strings{"input_worker_0.ckpt-12", "input_worker_0.ckpt-13", "input_worker_1.ckpt-12",
                                    "input_worker_1.ckpt-13"}));
}

TEST_F(RanksInputTest, AnInputThatIsDamagedOrLostForOneRankStepsAllBack) {
  for (const char* file : {"run/input_worker_0.ckpt-4", "run/input_worker_1.ckpt-4"}) {
    for (const bool is_lost : {false, true}) {
      use_new_disk();
      save_steps = 2;
      const std::vector<Trace> whole = train(2, 4);
      const std::string index = std::string(file) + ".index";
      if (is_lost) {
        disk->remove_file(index);
      } else {
        disk->write_file(index, disk->contents(index).substr(1));
      }
      expect_goes_on(train(2, 4), 2, whole);
    }
  }
  EXPECT_EQ(log.count("is damaged: rank 1: the position of the input pipeline at its step is damaged"), 2U);
}

TEST_F(RanksInputTest, AnotherNumberOfRanksGoesOnInTheGlobalOrder) {
  is_global = true;
  Numbers all(12 * kBatch);
  std::iota(all.begin(), all.end(), 0);
  for (const int before : {1, 2, 3}) {
    for (const int after : {1, 2, 3}) {
      SCOPED_TRACE(fmt::format("from {} to {}", before, after));
      use_new_disk();
      Numbers taken;
      for (const auto& [size, last_step] : {std::pair(before, 5), std::pair(after, 8), std::pair(before, 12)}) {
        const std::vector<Trace> traces = train(size, last_step);
        ASSERT_EQ(errors(traces), "");
        const Numbers more = taken_by_all(traces);
        taken.insert(taken.end(), more.begin(), more.end());
      }
      EXPECT_EQ(taken, all);
    }
  }
}

TEST_F(RanksInputTest, AnotherNumberOfRanksWithPositionsOfTheirOwnIsAnErrorWithTheWayOut) {
  train(2, 4);
  for (const int size : {1, 3}) {
    const std::vector<Trace> traces = train(size, 6);
    for (const Trace& trace : traces) {
      EXPECT_NE(trace.error.find("2 processes saved the input, and the positions of run/input_worker_0.ckpt-4 and "
                                 "run/input_worker_1.ckpt-4 differ"),
                std::string::npos)
          << trace.error;
      EXPECT_NE(trace.error.find("mpi::shard_globally"), std::string::npos) << trace.error;
    }
    EXPECT_EQ(saved_step(), 4);
  }
  EXPECT_EQ(train(2, 6)[1].begin, 4);
}

TEST_F(RanksInputTest, AStepThatIsSavedAgainByAnotherNumberHasOnlyTheirFiles) {
  is_global = true;
  train(1, 4);
  disk->remove_file("run/model.ckpt-4.index");
  train(2, 4);
  EXPECT_EQ(input_files(), (Strings{"input.ckpt-0", "input_worker_0.ckpt-4", "input_worker_1.ckpt-4"}));
  disk->remove_file("run/model.ckpt-4.index");
  train(1, 4);
  EXPECT_EQ(input_files(), (Strings{"input.ckpt-0", "input.ckpt-4", "input_worker_1.ckpt-4"}));
  train(2, 5);
  EXPECT_EQ(log.count("Restored the input pipeline from run/input.ckpt-4"), 2U);
}

TEST_F(RanksInputTest, ThePositionInTheFileCountsIfTheModelHasOneToo) {
  const Change change = [](int, LoopSession& loop, Options&) {
    loop.graph().add_to_collection(graph_keys::kSaveableObjects, make_saveable_from_iterator(loop.graph(), "input"));
  };
  const std::vector<Trace> whole = train(2, 8, change);
  use_new_disk();
  train(2, 4, change);
  for (int rank = 0; rank < 2; ++rank) {  // as if the files were of step 0
    for (const char* suffix : {".index", ".data-00000-of-00001"})
      disk->write_file(fmt::format("run/input_worker_{}.ckpt-4{}", rank, suffix),
                       disk->contents(fmt::format("run/input_worker_{}.ckpt-0{}", rank, suffix)));
  }
  const std::vector<Trace> resumed = train(2, 8, change);
  EXPECT_EQ(resumed[1].begin, 4);
  EXPECT_EQ(resumed[0].steps, std::vector<Numbers>(whole[0].steps.begin(), whole[0].steps.begin() + 4));
  EXPECT_EQ(resumed[1].steps, std::vector<Numbers>(whole[1].steps.begin(), whole[1].steps.begin() + 4));
}

TEST_F(RanksInputTest, AllContinueEarlierIfTheModelWasSavedWithoutTheHook) {
  const std::vector<Trace> whole = train(2, 8);
  use_new_disk();
  train(2, 3);
  with_hook = false;
  train(2, 5);
  with_hook = true;
  const std::vector<Trace> resumed = train(2, 8);
  EXPECT_EQ(errors(resumed), "");
  EXPECT_EQ(resumed[1].begin, 5);
  EXPECT_EQ(resumed[1].steps, std::vector<Numbers>(whole[1].steps.begin() + 3, whole[1].steps.begin() + 6));
  EXPECT_EQ(log.count("but run/input_worker_1.ckpt-5 does not exist: the input continues from its position at step 3"),
            1U);
}

TEST_F(RanksInputTest, AHookOfOneRankIsRefusedWithTheWayOut) {
  with_hook = false;
  for (const Trace& trace : train(2, 3, [](int, LoopSession&, Options& options) {
         options.chief_only_hooks = {CheckpointInputPipelineHook()};
       }))
    EXPECT_NE(trace.error.find("CheckpointInputPipelineHook's checkpoint_basename (give the hook to all ranks: hooks, "
                               "not chief_only_hooks) is not there and not 'input.ckpt'"),
              std::string::npos)
        << trace.error;
}

TEST_F(RanksInputTest, AHookThatWouldSaveAloneIsRefused) {
  with_hook = false;
  const std::vector<Trace> traces = train(2, 3, [](int, LoopSession&, Options& options) {
    options.save_checkpoint_steps.reset();
    options.hooks.emplace_back(CheckpointInputPipelineHook({.checkpoint_dir = "run", .save_steps = 2}));
  });
  for (const Trace& trace : traces)
    EXPECT_NE(trace.error.find("CheckpointInputPipelineHook: no hook of this session saves the model into 'run'"),
              std::string::npos)
        << trace.error;
}

}  // namespace
}  // namespace trainhook
