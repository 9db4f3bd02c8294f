// SPDX-License-Identifier: Apache-2.0
/// @file
/// CheckpointInputPipelineHook in a job: the inputs of all ranks are saved with the model, or none is.
#include <trainhook/ranks/peers.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <trainhook/checkpoint/bundle/bundle_reader.hpp>
#include <trainhook/data/iterator_resource.hpp>
#include <trainhook/checkpoint/saver.hpp>
#include <trainhook/hooks/async_checkpoint_saver_hook.hpp>
#include <trainhook/hooks/checkpoint_input_pipeline_hook.hpp>
#include <trainhook/hooks/checkpoint_saver_hook.hpp>

#include "input_of_ranks.hpp"

namespace trainhook {
namespace {

using RanksInputTest = support::InputOfRanks;
using support::Numbers;
using support::Options;
using support::Strings;
using support::Trace;
using testing::FileOperation;

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

TEST_F(RanksInputTest, IsSavedAtItsPositionIfTheModelIsSavedAgainBeforeTheFirstRun) {
  const std::vector<Trace> whole = train(2, 9);
  use_new_disk();
  train(2, 4);
  expect_goes_on(train(2, 9,
                       [](int rank, LoopSession&, Options& options) {
                         options.save_checkpoint_steps.reset();
                         if (rank == 0)
                           options.chief_only_hooks = {CheckpointSaverHook(
                               {.checkpoint_dir = "run", .save_steps = 1000, .checkpoint_basename = "other.ckpt"})};
                       }),
                 4, whole);
}

class EndedRanksInputTest : public support::InputOfRanks {
 protected:
  /// Ends jobs at every so many operations of rank 0, does `then` to the disk, and looks at what the next ones take.
  void end_at_operations(std::uint64_t every, const std::function<void()>& then) {
    save_steps = 2;
    const std::vector<Trace> whole = train(2, 8);
    const std::uint64_t operations = faulty.count();
    ASSERT_GT(operations, 100U);
    std::vector<std::int64_t> begins;
    for (std::uint64_t end_at = 1; end_at <= operations; end_at += every) {
      SCOPED_TRACE(fmt::format("ended at operation {}", end_at));
      use_new_disk();
      faulty.fail_from(end_at);
      train(2, 8);
      faulty.reset();
      then();
      const std::vector<Trace> resumed = train(2, 8);
      begins.push_back(resumed[0].begin);
      expect_goes_on(resumed, resumed[0].begin, whole);
      if (HasFailure()) return;
    }
    EXPECT_TRUE(std::ranges::is_sorted(begins));
    EXPECT_EQ(begins.front(), 0);
    EXPECT_EQ(begins.back(), 8);
  }
};

TEST_F(EndedRanksInputTest, AKilledJobContinuesAsOneThatWasNot) {
  end_at_operations(11, [] {});
}

TEST_F(EndedRanksInputTest, AJobWhosePowerWentContinuesAsOneWhosePowerDidNot) {
  end_at_operations(13, [this] { disk->crash(); });
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
  EXPECT_EQ(traces[1].error, "DataLoss: the save function of state '_trainhook/state/note' threw: nothing to save");
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
  EXPECT_EQ(log.count("is skipped: rank 1: the position of the input pipeline at its step is damaged"), 2U);
}

TEST_F(RanksInputTest, ThePositionInTheFileCountsIfTheModelHasOneToo) {
  const Change change = [](int, LoopSession& loop, Options&) { save_with_model(loop.graph(), "input"); };
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
    options.checkpoint_dir.clear();
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
