// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of the list of input checkpoints, and of what removes them.
#include <trainhook/checkpoint/input_checkpoints.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <trainhook/checkpoint/bundle/bundle_cleanup.hpp>
#include <trainhook/checkpoint/bundle/bundle_writer.hpp>
#include <trainhook/testing/faulty_file_system.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/memory_file_system.hpp>
#include <trainhook/testing/scripted_session.hpp>

namespace trainhook::detail {
namespace {

using Steps = std::vector<std::int64_t>;
using Strings = std::vector<std::string>;
using testing::FileOperation;

class InputCheckpointsTest : public ::testing::Test {
 protected:
  InputCheckpointsTest() {
    claim->directory = "run";
    files->follow(claim);
    script.input_state("position", Tensor(1));
  }
  void write(const std::string& basename, const Steps& steps) {
    for (const std::int64_t step : steps) {
      BundleWriter writer(fmt::format("run/{}-{}", basename, step), {.file_system = &memory});
      writer.add("step", Tensor(step));
      writer.finish();
    }
  }
  void list(const Steps& steps) {
    CheckpointState state;
    for (const std::int64_t step : steps)
      state.all_model_checkpoint_paths.push_back(fmt::format("run/input.ckpt-{}", step));
    state.model_checkpoint_path = state.all_model_checkpoint_paths.back();
    update_checkpoint_state(memory, "run", state, "checkpoint_input");
  }
  [[nodiscard]] Steps listed() {
    Steps steps;
    const auto state = get_checkpoint_state(memory, "run", "checkpoint_input");
    for (const std::string& prefix : state.value_or(CheckpointState{}).all_model_checkpoint_paths)
      steps.push_back(step_of_checkpoint(prefix).value());
    return steps;
  }
  [[nodiscard]] Steps on_disk() {
    Steps steps;
    for (const std::string& prefix : checkpoints_on_disk(memory, "run", "input.ckpt"))
      steps.push_back(step_of_checkpoint(prefix).value());
    return steps;
  }

  testing::Script script;
  testing::ScriptedSession session{script};
  testing::MemoryFileSystem memory;
  testing::FaultyFileSystem disk{memory};
  testing::LogLines log;
  std::shared_ptr<CheckpointClaim> claim = std::make_shared<CheckpointClaim>();
  std::shared_ptr<InputCheckpoints> files = std::make_shared<InputCheckpoints>(disk, "input.ckpt", "checkpoint_input");
};

std::shared_ptr<CheckpointPart::Taken> taken_by(InputCheckpoints& files, const SaveMoment& moment) {
  TakenParts taken;
  files.take(moment, taken);
  return taken.at(0);
}

TEST_F(InputCheckpointsTest, AreNoLongerListedBeforeTheyAreRemoved) {
  write("input.ckpt", {1, 2, 3});
  list({1, 2, 3});
  write("model.ckpt", {3});
  disk.set_callback([this](FileOperation operation, const std::string& path) {
    const bool removes = operation == FileOperation::Rename && path.starts_with("run/input.ckpt");
    if (removes) { EXPECT_EQ(listed(), (Steps{3})) << path; }
  });
  files->tidy(3);
  EXPECT_EQ(on_disk(), (Steps{3}));
}

TEST_F(InputCheckpointsTest, LoseTheirListBeforeTheLastOneIsRemoved) {
  write("input.ckpt", {1, 2});
  list({1, 2});
  disk.set_callback([this](FileOperation operation, const std::string& path) {
    const bool removes = operation == FileOperation::Rename && path.starts_with("run/input.ckpt");
    if (removes) { EXPECT_FALSE(memory.exists("run/checkpoint_input")) << path; }
  });
  files->tidy({});
  EXPECT_EQ(on_disk(), Steps());
  EXPECT_FALSE(memory.exists("run/checkpoint_input"));
}

TEST_F(InputCheckpointsTest, StayListedIfTheirIndexIsLostAndTheirModelIsThere) {
  write("input.ckpt", {2, 4, 5});
  list({2, 4, 5});
  write("model.ckpt", {2, 4, 5});
  remove_checkpoint(memory, "run/input.ckpt-4");
  files->tidy(5);
  EXPECT_EQ(listed(), (Steps{4, 2, 5}));
  EXPECT_FALSE(files->why_not("run/model.ckpt-5"));
  EXPECT_EQ(files->why_not("run/model.ckpt-4"),
            "the position of the input pipeline at its step is damaged: run/input.ckpt-4.index does not exist (without "
            "the CheckpointInputPipelineHook the model alone is restored)");
  remove_checkpoint(memory, "run/model.ckpt-4");
  files->tidy(5);
  EXPECT_EQ(listed(), (Steps{2, 5}));
}

TEST_F(InputCheckpointsTest, AnyFileOfAStepTellsThatItWasSaved) {
  write("model.ckpt", {4});
  EXPECT_FALSE(files->why_not("run/model.ckpt-4")) << "saved without the hook";
  for (const char* other : {"run/input.ckpt-40.data-00000-of-00001", "run/other_input.ckpt-4.data-00000-of-00001",
                            "run/input.ckpt-4-copy.data-00000-of-00001"})
    memory.write_file(other, "x");
  EXPECT_FALSE(files->why_not("run/model.ckpt-4"));
  memory.write_file("run/input.ckpt-4.data-00000-of-00001", "x");
  EXPECT_TRUE(files->why_not("run/model.ckpt-4"));
}

TEST_F(InputCheckpointsTest, ADamagedListIsReplaced) {
  write("input.ckpt", {1, 2});
  write("model.ckpt", {2});
  memory.write_file("run/checkpoint_input", "model_checkpoint_path: {");
  EXPECT_FALSE(files->why_not("run/model.ckpt-2"));
  files->tidy(2);
  EXPECT_EQ(listed(), (Steps{2}));
  EXPECT_EQ(on_disk(), (Steps{2}));
}

TEST_F(InputCheckpointsTest, AFileOfThatNameOfAnotherProgramStays) {
  memory.write_file("run/checkpoint_input", "of another program");
  files->tidy({});
  EXPECT_EQ(memory.contents("run/checkpoint_input"), "of another program");
}

TEST_F(InputCheckpointsTest, AListThatCannotBeReadIsAnErrorOfTheRestoreAndRemovesNothing) {
  write("input.ckpt", {1, 2});
  list({1, 2});
  write("model.ckpt", {2, 3});
  disk.set_callback([](FileOperation operation, const std::string& path) {
    if (operation == FileOperation::OpenReadable && path == "run/checkpoint_input")
      throw PermissionDeniedError("cannot open {}", path);
  });
  EXPECT_THROW(static_cast<void>(files->why_not("run/model.ckpt-3")), PermissionDeniedError);
  files->tidy(2);
  EXPECT_EQ(on_disk(), (Steps{1, 2}));
  EXPECT_EQ(log.count("W input checkpoints in run could not be tidied up"), 1U);
}

TEST_F(InputCheckpointsTest, ACopyIsNeitherRemovedNorListedNorWrittenOver) {
  const auto save = [this](std::int64_t step) {
    const auto taken = taken_by(*files, {.session = session, .step = step});
    taken->before_commit();
    write("model.ckpt", {step});
    taken->committed();
  };
  save(10);
  write("input.ckpt", {7, 30});
  write("model.ckpt", {7});
  const std::string theirs = memory.contents("run/input.ckpt-30.index");
  remove_checkpoint(memory, "run/model.ckpt-10");
  save(20);
  EXPECT_THROW(save(30), FailedPreconditionError);
  save(40);
  EXPECT_EQ(on_disk(), (Steps{7, 20, 30, 40}));
  EXPECT_EQ(listed(), (Steps{20, 40}));
  remove_checkpoint(memory, "run/model.ckpt-7");
  files->tidy({});
  EXPECT_EQ(on_disk(), (Steps{7, 20, 30, 40}));
  EXPECT_EQ(memory.contents("run/input.ckpt-30.index"), theirs);
  for (const std::string& path : memory.files()) EXPECT_EQ(path.find("tempstate"), std::string::npos) << path;
}

TEST_F(InputCheckpointsTest, AfterAKillAtAnyCallTheNextProcessKnowsWhatIsItsOwn) {
  const auto process = [this](FileSystem& file_system, std::int64_t step) {
    finish_interrupted_saves(file_system, "run");
    const auto mine = std::make_shared<InputCheckpoints>(file_system, "input.ckpt", "checkpoint_input");
    mine->follow(claim);
    mine->tidy({});
    const auto taken = taken_by(*mine, {.session = session, .step = step});
    taken->before_commit();
    BundleWriter(fmt::format("run/model.ckpt-{}", step), {.file_system = &file_system, .overwrite = true}).finish();
    if (step > 1) remove_checkpoint(file_system, fmt::format("run/model.ckpt-{}", step - 1));
    taken->committed();
  };
  for (std::uint64_t call = 1;; ++call) {
    for (const std::string& path : memory.files()) memory.remove_file(path);
    memory.make_directories("run");
    process(memory, 1);
    testing::FaultyFileSystem dying(memory);
    dying.fail_from(call);
    bool is_through = true;
    try {
      process(dying, 2);
    } catch (const Error&) { is_through = false; }
    is_through = is_through && dying.count() < call;
    process(memory, 2);
    process(memory, 3);
    EXPECT_EQ(on_disk(), Steps{3}) << "killed at call " << call;
    EXPECT_EQ(listed(), Steps{3}) << "killed at call " << call;
    for (const std::string& path : memory.files())
      EXPECT_EQ(path.find("tempstate"), std::string::npos) << path << ", killed at call " << call;
    if (is_through) break;
  }
}

TEST_F(InputCheckpointsTest, OfAJobAreRemovedForAllProcessesAtOnce) {
  for (const char* basename : {"input_worker_0.ckpt", "input_worker_1.ckpt"}) write(basename, {2, 4, 6});
  write("input_worker_2.ckpt", {2, 3});  // of a larger job
  write("input.ckpt", {1});              // of one process
  write("input_worker_x.ckpt", {9});     // not one of these
  write("model.ckpt", {4});
  files->tidy(4);
  EXPECT_EQ(checkpoints_on_disk(memory, "run"),
            (Strings{"run/input_worker_0.ckpt-4", "run/input_worker_1.ckpt-4", "run/model.ckpt-4",
                     "run/input_worker_0.ckpt-6", "run/input_worker_1.ckpt-6", "run/input_worker_x.ckpt-9"}))
      << "those of step 6 may belong to a save in progress";
}

TEST_F(InputCheckpointsTest, OfAJobAreDamagedIfTheyAreNotOfOneSave) {
  const auto write_of = [this](int process, std::int64_t count) {
    BundleWriter writer(fmt::format("run/input_worker_{}.ckpt-4", process), {.file_system = &memory});
    writer.add("_trainhook/num_processes", Tensor(count));
    writer.finish();
  };
  write_of(0, 2);
  write_of(1, 3);
  write_of(2, 3);
  write("model.ckpt", {4});
  for (int process = 0; process < 3; ++process) {
    for (const int count : {2, 3}) {
      if (process >= count) continue;
      const auto mine = std::make_shared<InputCheckpoints>(memory, "input.ckpt", "checkpoint_input",
                                                           InputFiles::Process{.number = process, .count = count});
      const auto why = mine->why_not("run/model.ckpt-4");
      const bool looks_at_others = process == 1 ? count == 2 : (process == 0 && count == 3);
      EXPECT_EQ(why.has_value(), looks_at_others) << process << " of " << count;
      if (why) {
        EXPECT_NE(why->find("run/input_worker_0.ckpt-4 and run/input_worker_1.ckpt-4 are not of one save"),
                  std::string::npos)
            << *why;
      }
    }
  }
}

TEST_F(InputCheckpointsTest, OfAJobAreNotSavedWithoutThoseOfAllProcesses) {
  const auto of_job = std::make_shared<InputCheckpoints>(memory, "input.ckpt", "checkpoint_input",
                                                         InputFiles::Process{.number = 0, .count = 3});
  of_job->follow(claim);
  TakenParts taken;
  of_job->take({.step = 4, .inputs = {{}}}, taken);
  EXPECT_TRUE(taken.empty());
  EXPECT_EQ(checkpoints_on_disk(memory, "run"), Strings());
  EXPECT_EQ(log.count("W the checkpoint of step 4 lacks the input: the 3 processes of the job do not know of it"), 1U);
}

class NotFoundOnce : public InputCheckpointsTest, public ::testing::WithParamInterface<FileOperation> {};

TEST_P(NotFoundOnce, LosesNoPosition) {
  write("input.ckpt", {2, 3});
  list({2, 3});
  write("model.ckpt", {2, 3});
  for (std::uint64_t n = 1; n <= 20; ++n) {
    disk.fail_at(GetParam(), n, ErrorCode::NotFound);
    files->tidy(3);
    files->tidy({});
    disk.reset();
    ASSERT_EQ(on_disk(), (Steps{2, 3})) << n;
    files->tidy(3);
    ASSERT_EQ(listed(), (Steps{2, 3})) << n;
  }
}
INSTANTIATE_TEST_SUITE_P(InputCheckpointsTest, NotFoundOnce,
                         ::testing::Values(FileOperation::IsDirectory, FileOperation::ListDirectory,
                                           FileOperation::Exists, FileOperation::OpenReadable));

}  // namespace
}  // namespace trainhook::detail
