// SPDX-License-Identifier: Apache-2.0
/// @file
/// SessionManager: the newest good checkpoint, however damaged its neighbours are.
#include <trainhook/monitored/session_manager.hpp>

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/checkpoint/restore_condition.hpp>
#include <trainhook/session/run_context.hpp>
#include <trainhook/testing/manual_clock.hpp>
#include <trainhook/testing/memory_file_system.hpp>
#include <trainhook/testing/scripted_session.hpp>

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

TEST_F(SessionManagerTest, S30_StepsBackWhereTheNewestIsGone) {
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

TEST_F(SessionManagerTest, SkipsWhatAConditionOfAHookForbids) {
  script.graph().add_to_collection(
      kRestoreConditions, RestoreCondition{[](const std::string& prefix) -> std::optional<std::string> {
        return prefix.ends_with("-3") ? std::optional<std::string>("its input state is missing") : std::nullopt;
      }});
  EXPECT_EQ(step_of(prepare("run")), 2);
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
