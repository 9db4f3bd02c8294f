// SPDX-License-Identifier: Apache-2.0
/// @file
/// SessionManager: the newest good checkpoint, however damaged its neighbours are.
#include <trainhook/monitored/session_manager.hpp>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/checkpoint/checkpoint_part.hpp>
#include <trainhook/checkpoint/checkpoint_state.hpp>
#include <trainhook/checkpoint/saver.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/io/path.hpp>
#include <trainhook/io/posix_file_system.hpp>
#include <trainhook/io/whole_file.hpp>
#include <trainhook/session/run_context.hpp>
#include <trainhook/testing/manual_clock.hpp>
#include <trainhook/testing/memory_file_system.hpp>
#include <trainhook/testing/scripted_session.hpp>

#include "temporary_folder.hpp"

namespace trainhook {
namespace {

using testing::ScriptedSession;

class SessionManagerTest : public ::testing::Test {
 protected:
  SessionManagerTest() {
    for (const std::int64_t step : {1, 2, 3}) {
      ScriptedSession session(script);
      const std::vector<NamedTensor> entries = {{"global_step", Tensor(step)}};
      session.load(entries);
      saver->save(session, {.save_path = "run/model.ckpt", .global_step = step});
    }
  }
  ~SessionManagerTest() override { set_log_sink(previous_sink); }

  OwnedSession prepare(const std::string& directory, const std::string& file = {}) {
    return manager.prepare_session(
        [this] { return OwnedSession::make<ScriptedSession>(script); },
        {.saver = saver, .checkpoint_dir = directory, .checkpoint_filename_with_path = file});
  }
  std::int64_t step_of(const OwnedSession& owned) { return read_global_step(owned.session, script.global_step); }
  void flip(const std::string& path) {
    std::string contents = disk.contents(path);
    contents[contents.size() / 2] = static_cast<char>(contents[contents.size() / 2] ^ 1);
    disk.write_file(path, contents);
  }

  testing::MemoryFileSystem disk;
  testing::ManualClock clock;
  testing::Script script;
  std::shared_ptr<Saver> saver = std::make_shared<Saver>(SaverOptions{.file_system = &disk, .clock = &clock});
  SessionManager manager{{.file_system = &disk, .clock = &clock}};
  std::string log;
  LogSink previous_sink = set_log_sink([this](LogLevel, std::string_view line) { log.append(line).append("\n"); });
};

TEST_F(SessionManagerTest, RestoresTheNewestCheckpoint) {
  EXPECT_EQ(step_of(prepare("run")), 3);
  EXPECT_EQ(manager.report().prefix, "run/model.ckpt-3");
}

TEST_F(SessionManagerTest, RestoresExactlyTheFileNamed) { EXPECT_EQ(step_of(prepare("", "run/model.ckpt-2")), 2); }

TEST_F(SessionManagerTest, StartsAfreshInAnEmptyDirectory) {
  EXPECT_EQ(step_of(prepare("elsewhere")), 0);
  EXPECT_EQ(manager.report().prefix, "");
}

TEST_F(SessionManagerTest, S30_StepsBackOverDamagedCheckpointsAndSaysWhy) {
  flip("run/model.ckpt-3.data-00000-of-00001");
  flip("run/model.ckpt-2.index");
  EXPECT_EQ(step_of(prepare("run")), 1);
  ASSERT_EQ(manager.report().skipped.size(), 2U);
  EXPECT_TRUE(manager.report().skipped[0].starts_with("run/model.ckpt-3: "));
  EXPECT_NE(log.find("checkpoint run/model.ckpt-3 is skipped: "), std::string::npos);
}

TEST_F(SessionManagerTest, S30_StepsBackIfTheNewestIsGone) {
  disk.remove_file("run/model.ckpt-3.index");
  EXPECT_EQ(step_of(prepare("run")), 2);
}

TEST_F(SessionManagerTest, S30_AnEmptyStateFileDoesNotHideTheCheckpoints) {
  disk.write_file("run/checkpoint", "");
  EXPECT_EQ(step_of(prepare("run")), 3);
}

TEST_F(SessionManagerTest, NeverTrainsFromScratchOverCheckpointsOfWhichNoneIsGood) {
  for (const char* step : {"1", "2", "3"}) flip(std::string("run/model.ckpt-") + step + ".data-00000-of-00001");
  const int closes = script.closes;
  EXPECT_THROW(prepare("run"), DataLossError);
  EXPECT_EQ(script.closes, closes + 1);
}

TEST_F(SessionManagerTest, SkipsWhatAPartExcludes) {
  struct NotTheLast final : detail::CheckpointPart {
    [[nodiscard]] std::optional<std::string> why_not(const std::string& prefix) const override {
      return prefix.ends_with("-3") ? std::optional<std::string>("its input state is missing") : std::nullopt;
    }
  };
  const std::shared_ptr<detail::CheckpointPart> part = std::make_shared<NotTheLast>();
  script.graph().offer(part);
  EXPECT_EQ(step_of(prepare("run")), 2);
}

TEST_F(SessionManagerTest, ACopyOfADirectoryIsRestoredAndTrainedInWithoutTouchingTheOriginal) {
  const support::TemporaryFolder folder;
  const std::string original = folder.file("run");
  const std::string copy = folder.file("copy");
  SaverOptions options{.max_to_keep = 2, .save_relative_paths = false, .clock = &clock};
  const auto save_in = [&](const std::string& directory, Saver& to, std::int64_t step) {
    ScriptedSession session(script);
    const std::vector<NamedTensor> entries = {{"global_step", Tensor(step)}};
    session.load(entries);
    to.save(session, {.save_path = directory + "/model.ckpt", .global_step = step});
  };
  const auto trained_to = [&](const std::string& directory) {
    SessionManager on_disk{{.clock = &clock}};
    const OwnedSession owned =
        on_disk.prepare_session([this] { return OwnedSession::make<ScriptedSession>(script); },
                                {.saver = std::make_shared<Saver>(options), .checkpoint_dir = directory});
    EXPECT_EQ(parent_path(on_disk.report().prefix), directory);
    return step_of(owned);
  };
  {
    Saver absolute(options);
    for (const std::int64_t step : {1, 2}) save_in(original, absolute, step);
  }
  std::filesystem::copy(original, copy, std::filesystem::copy_options::recursive);
  std::filesystem::remove(original + "/model.ckpt-2.data-00000-of-00001");
  EXPECT_EQ(trained_to(copy), 2) << "its own, though its state file names the original's, which is damaged";
  std::filesystem::copy_file(copy + "/model.ckpt-2.data-00000-of-00001",
                             original + "/model.ckpt-2.data-00000-of-00001");
  {
    options.save_relative_paths = true;
    Saver relative(options);
    for (const std::int64_t step : {3, 4, 5}) save_in(copy, relative, step);
  }
  EXPECT_EQ(checkpoints_on_disk(posix_file_system(), copy),
            (std::vector<std::string>{copy + "/model.ckpt-4", copy + "/model.ckpt-5"}));
  EXPECT_EQ(checkpoints_on_disk(posix_file_system(), original),
            (std::vector<std::string>{original + "/model.ckpt-1", original + "/model.ckpt-2"}));
  EXPECT_EQ(trained_to(original), 2);
  EXPECT_EQ(read_file(posix_file_system(), copy + "/checkpoint").find(folder.path()), std::string::npos);
  std::filesystem::rename(copy, folder.file("moved"));
  EXPECT_EQ(trained_to(folder.file("moved")), 5);
}

TEST_F(SessionManagerTest, APathThatLeadsOutOfTheDirectoryIsReadAndNeverRemoved) {
  const support::TemporaryFolder folder;
  FileSystem& machine = posix_file_system();
  const auto copy_to = [&](const std::string& directory, int step) {
    machine.make_directories(folder.file(directory));
    for (const char* ending : {".index", ".data-00000-of-00001"}) {
      const std::string name = "model.ckpt-" + std::to_string(step) + ending;
      write_file_atomically(machine, folder.file(directory + "/" + name), disk.contents("run/" + name));
    }
  };
  for (const int step : {1, 2}) copy_to("original", step);
  machine.make_directories(folder.file("run"));
  write_file_atomically(machine, folder.file("run/checkpoint"),
                        "model_checkpoint_path: \"../original/model.ckpt-2\"\n"
                        "all_model_checkpoint_paths: \"../original/model.ckpt-1\"\n"
                        "all_model_checkpoint_paths: \"../original/model.ckpt-2\"\n");
  const auto outside = std::make_shared<Saver>(SaverOptions{.max_to_keep = 1, .clock = &clock});
  SessionManager on_disk{{.clock = &clock}};
  const OwnedSession owned = on_disk.prepare_session([this] { return OwnedSession::make<ScriptedSession>(script); },
                                                     {.saver = outside, .checkpoint_dir = folder.file("run")});
  EXPECT_EQ(step_of(owned), 2);
  for (const std::int64_t step : {3, 4}) {
    outside->save(owned.session, {.save_path = folder.file("run/model.ckpt"), .global_step = step});
  }
  EXPECT_EQ(checkpoints_on_disk(machine, folder.file("original")).size(), 2U);
  EXPECT_EQ(checkpoints_on_disk(machine, folder.file("run")),
            std::vector<std::string>{folder.file("run/model.ckpt-4")});
  EXPECT_EQ(read_file(machine, folder.file("run/checkpoint")).find("original"), std::string::npos);
  EXPECT_NE(log.find("lists 2 checkpoints that are not this saver's"), std::string::npos) << log;
}

TEST_F(SessionManagerTest, ADirectoryAndAFileExcludeEachOther) {
  EXPECT_THROW(prepare("run", "run/model.ckpt-1"), InvalidArgumentError);
}

TEST_F(SessionManagerTest, AnotherModelsCheckpointIsAnErrorAndNotSkipped) {
  script.initial_values["global_step"] = Tensor(std::int32_t{0});
  EXPECT_THROW(prepare("run"), InvalidArgumentError);
}

}  // namespace
}  // namespace trainhook
