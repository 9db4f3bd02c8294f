// SPDX-License-Identifier: Apache-2.0
/// @file
/// The state file in all the forms it comes in, and the order in which checkpoints are tried.
#include <trainhook/checkpoint/checkpoint_state.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/io/posix_file_system.hpp>
#include <trainhook/io/whole_file.hpp>
#include <trainhook/testing/faulty_file_system.hpp>
#include <trainhook/testing/memory_file_system.hpp>

#include "damage.hpp"
#include "data_files.hpp"

namespace trainhook {
namespace {

using detail::checkpoint_candidates;

using testing::FaultyFileSystem;
using testing::MemoryFileSystem;
using Paths = std::vector<std::string>;

/// Keeps what is logged instead of printing it.
class CheckpointStateTest : public ::testing::Test {
 protected:
  CheckpointStateTest() {
    previous_ = set_log_sink([this](LogLevel, std::string_view line) { log_ += std::string(line) + "\n"; });
  }
  ~CheckpointStateTest() override { set_log_sink(previous_); }

  MemoryFileSystem disk_;
  std::string log_;

 private:
  LogSink previous_;
};

TEST_F(CheckpointStateTest, ACheckpointOfTheDirectoryThatIsGoneIsAnError) {
  disk_.write_file("run/model.ckpt-1.index", "of step 1");
  disk_.write_file("run/model.ckpt-2.index", "of step 2");
  EXPECT_TRUE(detail::is_checkpoint_of(disk_, "run/model.ckpt-2", "run", "model.ckpt", 2));
  EXPECT_FALSE(detail::is_checkpoint_of(disk_, "run/model.ckpt-2", "run", "model.ckpt", 3));
  EXPECT_FALSE(detail::is_checkpoint_of(disk_, "", "run", "model.ckpt", 2)) << "nothing was restored";
  disk_.remove_file("run/model.ckpt-2.index");
  EXPECT_THROW(static_cast<void>(detail::is_checkpoint_of(disk_, "run/model.ckpt-2", "./run", "model.ckpt", 2)),
               NotFoundError);
  EXPECT_FALSE(detail::is_checkpoint_of(disk_, "other/model.ckpt-2", "run", "model.ckpt", 2))
      << "what another directory has is its own affair";
}

TEST_F(CheckpointStateTest, ReadsTensorFlowsFile) {
  disk_.write_file(
      "run/checkpoint",
      "model_checkpoint_path: \"ckpt-2\"\nall_model_checkpoint_paths: \"ckpt-1\"\nall_model_checkpoint_paths: "
      "\"ckpt-2\"\n"
      "all_model_checkpoint_timestamps: 1700000000.1234567\nall_model_checkpoint_timestamps: 1700000001.0\n"
      "last_preserved_timestamp: 1699999999.5\n");
  const std::optional<CheckpointState> state = get_checkpoint_state(disk_, "run");
  ASSERT_TRUE(state.has_value());
  EXPECT_EQ(state->model_checkpoint_path, "run/ckpt-2");
  EXPECT_EQ(state->all_model_checkpoint_paths, (Paths{"run/ckpt-1", "run/ckpt-2"}));
  EXPECT_EQ(state->all_model_checkpoint_timestamps, (std::vector<double>{1700000000.1234567, 1700000001.0}));
  EXPECT_EQ(state->last_preserved_timestamp, 1699999999.5);
}

TEST_F(CheckpointStateTest, WritesTensorFlowsFile) {
  disk_.make_directories("run");
  update_checkpoint_state(disk_, "run",
                          {.model_checkpoint_path = "run/ckpt-2",
                           .all_model_checkpoint_paths = {"run/ckpt-1", "run/ckpt-2"},
                           .all_model_checkpoint_timestamps = {1700000000.1234567, 1700000001},
                           .last_preserved_timestamp = 1699999999.5});
  EXPECT_EQ(disk_.contents("run/checkpoint"),
            "model_checkpoint_path: \"ckpt-2\"\nall_model_checkpoint_paths: \"ckpt-1\"\nall_model_checkpoint_paths: "
            "\"ckpt-2\"\n"
            "all_model_checkpoint_timestamps: 1700000000.1234567\nall_model_checkpoint_timestamps: 1700000001.0\n"
            "last_preserved_timestamp: 1699999999.5\n");
}

TEST_F(CheckpointStateTest, AcceptsWhatTextProtosMayLookLike) {
  disk_.write_file("run/checkpoint",
                   "# by hand\nsome_new_field { a: 1 } last_preserved_timestamp: 5,\n"
                   "model_checkpoint_path: '/abs/m' \"-\\303\\251\"; other: X");
  const std::optional<CheckpointState> state = get_checkpoint_state(disk_, "run");
  ASSERT_TRUE(state.has_value());
  EXPECT_EQ(state->model_checkpoint_path, "/abs/m-\xc3\xa9");
  EXPECT_EQ(state->last_preserved_timestamp, 5.0);
}

TEST_F(CheckpointStateTest, WithoutAFileThereIsNone) {
  EXPECT_FALSE(get_checkpoint_state(disk_, "run").has_value());
  EXPECT_FALSE(latest_checkpoint(disk_, "run").has_value());
  EXPECT_EQ(log_, "");
}

TEST_F(CheckpointStateTest, JunkIsIgnoredWithAWarning) {
  for (const char* junk :
       {"junk", "model_checkpoint_path: 5", "model_checkpoint_path: \"a", "last_preserved_timestamp: \"x\""}) {
    log_.clear();
    disk_.write_file("run/checkpoint", junk);
    EXPECT_FALSE(get_checkpoint_state(disk_, "run").has_value()) << junk;
    EXPECT_NE(log_.find("run/checkpoint"), std::string::npos) << junk;
  }
}

TEST_F(CheckpointStateTest, AFileOfAnotherProgramIsNotReplacedAndALinkIsFollowed) {
  const CheckpointState state{.model_checkpoint_path = "run/m-1"};
  disk_.write_file("run/checkpoint", "a photograph");
  EXPECT_THROW(update_checkpoint_state(disk_, "run", state), FailedPreconditionError);
  EXPECT_EQ(disk_.contents("run/checkpoint"), "a photograph");
  for (const char* own : {"", "# by hand\nall_model_checkpoint_paths: \"m-1\"", "model_checkpoint_path: \"a"}) {
    disk_.write_file("elsewhere/state", own);
    disk_.make_link("run/checkpoint", "/elsewhere/state");
    update_checkpoint_state(disk_, "run", state);
    EXPECT_EQ(disk_.contents("elsewhere/state").find("model_checkpoint_path: \"m-1\""), 0U);
    EXPECT_EQ(disk_.resolve("run/checkpoint").path, "/elsewhere/state");
  }
}

TEST_F(CheckpointStateTest, AFileOfOursIsReplacedWhicheverByteIsDamaged) {
  disk_.make_directories("run");
  const CheckpointState state{.model_checkpoint_path = "run/m-2", .all_model_checkpoint_paths = {"run/m-1", "run/m-2"}};
  update_checkpoint_state(disk_, "run", state);
  const std::string whole = disk_.contents("run/checkpoint");
  for (std::size_t i = 0; i < whole.size(); ++i) {
    for (const int bit : {0, 3, 7}) {
      std::string damaged = whole;
      damaged[i] = static_cast<char>(damaged[i] ^ (1 << bit));
      disk_.write_file("run/checkpoint", damaged);
      ASSERT_NO_THROW(update_checkpoint_state(disk_, "run", state)) << "byte " << i << ", bit " << bit;
      ASSERT_EQ(disk_.contents("run/checkpoint"), whole);
    }
  }
}

TEST_F(CheckpointStateTest, AFileOfOursIsReplacedWhereverItIsCutOff) {
  const auto update = [this] {
    update_checkpoint_state(disk_, "run", {.model_checkpoint_path = "run/m-1", .last_preserved_timestamp = 3.5});
  };
  disk_.make_directories("run");
  update();
  const std::string whole = disk_.contents("run/checkpoint");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    for (const std::size_t lost : {0U, 3U}) {  // a power cut may leave the size, but not the bytes
      disk_.write_file("run/checkpoint", whole.substr(0, size) + std::string(lost, '\0'));
      EXPECT_NO_THROW(update()) << "cut to " << size;
      EXPECT_EQ(disk_.contents("run/checkpoint"), whole);
    }
  }
  for (const char* other : {"mine", "model_checkpoint_paths", "notes\nmodel_check", "x"}) {
    disk_.write_file("run/checkpoint", other);
    EXPECT_THROW(update(), FailedPreconditionError) << other;
    EXPECT_EQ(disk_.contents("run/checkpoint"), other);
  }
}

TEST_F(CheckpointStateTest, ReadsTheFileOfASaverAndWhateverDamageSays) {
  const auto read = [](const std::string& text) { return detail::parse_checkpoint_state(text, "run/checkpoint"); };
  const std::string text = read_file(posix_file_system(), testing::data_file("checkpoint"));
  EXPECT_EQ(read(text).model_checkpoint_path, "model.ckpt-3");
  EXPECT_EQ(read(text).all_model_checkpoint_paths,
            (std::vector<std::string>{"model.ckpt-1", "model.ckpt-2", "model.ckpt-3"}));
  testing::expect_refused_or_read(text, "run/checkpoint", read);
}

TEST_F(CheckpointStateTest, AnUnreadableFileIsIgnoredWithAWarning) {
  disk_.write_file("run/checkpoint", "model_checkpoint_path: \"a\"");
  FaultyFileSystem faulty(disk_);
  faulty.fail_at(testing::FileOperation::OpenReadable, 1, ErrorCode::PermissionDenied);
  EXPECT_FALSE(get_checkpoint_state(faulty, "run").has_value());
  EXPECT_NE(log_, "");
}

TEST_F(CheckpointStateTest, AFileThatNamesNoNewestIsAnError) {
  disk_.write_file("run/checkpoint", "");
  EXPECT_THROW(static_cast<void>(get_checkpoint_state(disk_, "run")), InvalidArgumentError);
}

TEST_F(CheckpointStateTest, StoresPathsRelativeToItsDirectory) {
  const auto stored = [&](const std::string& directory, const std::string& path) {
    disk_.make_directories(directory);
    update_checkpoint_state(disk_, directory, {.model_checkpoint_path = path});
    const std::string text = disk_.contents(directory + "/checkpoint");
    return text.substr(text.find('"') + 1, text.find('"', text.find('"') + 1) - text.find('"') - 1);
  };
  EXPECT_EQ(stored("run", "run/m-1"), "m-1");
  EXPECT_EQ(stored("./run/", "run//m-1"), "m-1");
  EXPECT_EQ(stored("/abs/run", "/abs/run/m-1"), "m-1");
  EXPECT_EQ(stored("/abs/run", "/abs/run2/m-1"), "/abs/run2/m-1");
  EXPECT_EQ(stored("a/run", "b/m-1"), "../../b/m-1");
  EXPECT_EQ(stored(".", "m-1"), "m-1");
  EXPECT_THROW(stored("/abs/run", "run/m-1"), InvalidArgumentError);
}

TEST_F(CheckpointStateTest, K03_AnAbsolutePathIsKeptIfRelativeOnesAreNotAskedFor) {
  disk_.make_directories("/abs/run");
  update_checkpoint_state(disk_, "/abs/run", {.model_checkpoint_path = "/abs/run/m-0"}, kLatestFilename, false);
  EXPECT_EQ(disk_.contents("/abs/run/checkpoint"),
            "model_checkpoint_path: \"/abs/run/m-0\"\nall_model_checkpoint_paths: \"/abs/run/m-0\"\n");
  EXPECT_EQ(get_checkpoint_state(disk_, "/abs/run")->all_model_checkpoint_paths, Paths{"/abs/run/m-0"});
}

TEST_F(CheckpointStateTest, K04_ARelativePathIsStoredAsSeenFromTheDirectory) {
  disk_.make_directories("train");
  for (const bool save_relative_paths : {false, true}) {
    update_checkpoint_state(disk_, "train", {.model_checkpoint_path = "train/model-0"}, kLatestFilename,
                            save_relative_paths);
    EXPECT_EQ(disk_.contents("train/checkpoint"),
              "model_checkpoint_path: \"model-0\"\nall_model_checkpoint_paths: \"model-0\"\n");
  }
}

TEST_F(CheckpointStateTest, K05_TheNewestIsAddedToTheListIfItIsNotTheLast) {
  disk_.make_directories("run");
  const auto listed = [&](Paths all) {
    update_checkpoint_state(disk_, "run",
                            {.model_checkpoint_path = "run/m-2", .all_model_checkpoint_paths = std::move(all)});
    return get_checkpoint_state(disk_, "run")->all_model_checkpoint_paths;
  };
  EXPECT_EQ(listed({}), Paths{"run/m-2"});
  EXPECT_EQ(listed({"run/m-2"}), Paths{"run/m-2"});
  EXPECT_EQ(listed({"run/m-1"}), (Paths{"run/m-1", "run/m-2"}));
}

TEST_F(CheckpointStateTest, K06_OneAbsoluteAndOneRelativePathComeBackUnchanged) {
  disk_.make_directories("run");
  update_checkpoint_state(disk_, "run",
                          {.model_checkpoint_path = "run/m-1", .all_model_checkpoint_paths = {"/abs/m-2", "run/m-1"}},
                          kLatestFilename, false);
  const auto state = get_checkpoint_state(disk_, "run");
  ASSERT_TRUE(state.has_value());
  EXPECT_EQ(state->model_checkpoint_path, "run/m-1");
  EXPECT_EQ(state->all_model_checkpoint_paths, (Paths{"/abs/m-2", "run/m-1"}));
}

TEST_F(CheckpointStateTest, K07_RelativePathsAreInTheFileAndAbsoluteOnesAreReadFromIt) {
  disk_.make_directories("/abs/run");
  update_checkpoint_state(
      disk_, "/abs/run",
      {.model_checkpoint_path = "/abs/run/m-2", .all_model_checkpoint_paths = {"/abs/run/m-1", "/abs/run/m-2"}});
  EXPECT_EQ(
      disk_.contents("/abs/run/checkpoint"),
      "model_checkpoint_path: \"m-2\"\nall_model_checkpoint_paths: \"m-1\"\nall_model_checkpoint_paths: \"m-2\"\n");
  const auto state = get_checkpoint_state(disk_, "/abs/run");
  EXPECT_EQ(state->model_checkpoint_path, "/abs/run/m-2");
  EXPECT_EQ(state->all_model_checkpoint_paths, (Paths{"/abs/run/m-1", "/abs/run/m-2"}));
}

TEST_F(CheckpointStateTest, RefusesWhatWouldNotBeRead) {
  disk_.make_directories("run");
  EXPECT_THROW(update_checkpoint_state(disk_, "run", {}), InvalidArgumentError);
  EXPECT_THROW(update_checkpoint_state(disk_, "run", {.model_checkpoint_path = "run/checkpoint"}),
               FailedPreconditionError);
  EXPECT_THROW(update_checkpoint_state(disk_, "run", {.model_checkpoint_path = "run/m"}, "a/b"), InvalidArgumentError);
  const CheckpointState one_stamp_too_many{.model_checkpoint_path = "run/m",
                                           .all_model_checkpoint_paths = {"run/m"},
                                           .all_model_checkpoint_timestamps = {1, 2}};
  EXPECT_THROW(update_checkpoint_state(disk_, "run", one_stamp_too_many), InvalidArgumentError);
}

TEST_F(CheckpointStateTest, LatestIsTheStatesNewestIfItsIndexIsThere) {
  disk_.make_directories("run");
  update_checkpoint_state(disk_, "run", {.model_checkpoint_path = "run/m-2"}, "latest");
  EXPECT_FALSE(latest_checkpoint(disk_, "run", "latest").has_value());
  EXPECT_NE(log_.find("run/m-2"), std::string::npos);
  disk_.write_file("run/m-2.index", "");
  EXPECT_EQ(latest_checkpoint(disk_, "run", "latest"), "run/m-2");
}

TEST_F(CheckpointStateTest, CandidatesBeginWithTheStatesNewestAndFallByStep) {
  for (const char* step : {"9", "10", "11", "200"}) disk_.write_file(std::string("run/m-") + step + ".index", "");
  disk_.write_file("run/other-300.index", "");
  disk_.write_file("run/m-x.index", "");
  update_checkpoint_state(
      disk_, "run",
      {.model_checkpoint_path = "run/m-11", .all_model_checkpoint_paths = {"run/m-8", "run/m-10", "run/m-11"}});
  const Paths expected{"run/m-11", "run/m-200", "run/m-10", "run/m-9", "run/m-8"};
  EXPECT_EQ(checkpoint_candidates(disk_, "run"), expected);
  EXPECT_EQ(checkpoint_candidates(disk_, "run", "m"), expected);
}

TEST_F(CheckpointStateTest, AListedNameWithADashAndNoStepBringsNoOtherModel) {
  for (const char* name : {"my-model", "my-5"}) disk_.write_file(std::string("run/") + name + ".index", "");
  update_checkpoint_state(disk_, "run", {.model_checkpoint_path = "run/my-model"});
  EXPECT_EQ(checkpoint_candidates(disk_, "run"), (Paths{"run/my-model"}));
}

TEST_F(CheckpointStateTest, CandidatesWithoutAUsableStateAreFoundByName) {
  for (const char* name : {"m-9", "m-10", "input-10", "m-00000011"})
    disk_.write_file(std::string("run/") + name + ".index", "");
  EXPECT_EQ(checkpoint_candidates(disk_, "run", "m"), (Paths{"run/m-00000011", "run/m-10", "run/m-9"}));
  EXPECT_EQ(log_, "");
  disk_.write_file("run/checkpoint", "junk");
  EXPECT_EQ(checkpoint_candidates(disk_, "run", "m"), (Paths{"run/m-00000011", "run/m-10", "run/m-9"}));
  EXPECT_NE(log_, "");
  EXPECT_EQ(checkpoint_candidates(disk_, "run").size(), 4u);
  EXPECT_TRUE(checkpoint_candidates(disk_, "elsewhere").empty());
}

TEST_F(CheckpointStateTest, TheOnlyOneWithoutAStepIsACandidateIfThereIsNoOther) {
  disk_.write_file("run/model.ckpt.index", "");
  EXPECT_EQ(checkpoint_candidates(disk_, "run"), (Paths{"run/model.ckpt"}));
  EXPECT_EQ(checkpoint_candidates(disk_, "run", "input"), Paths());
  disk_.write_file("run/pretrained.index", "");
  EXPECT_THROW(static_cast<void>(checkpoint_candidates(disk_, "run")), FailedPreconditionError);
  disk_.write_file("run/model.ckpt-3.index", "");
  EXPECT_EQ(checkpoint_candidates(disk_, "run"), (Paths{"run/model.ckpt-3"}));
}

TEST_F(CheckpointStateTest, APathWhoseNameIsInTheDirectoryMeansTheDirectorysOwn) {
  disk_.write_file("copy/checkpoint",
                   "model_checkpoint_path: \"/run/m-3\"\nall_model_checkpoint_paths: \"/run/m-1\"\n"
                   "all_model_checkpoint_paths: \"/run/m-2\"\nall_model_checkpoint_paths: \"/run/m-3\"\n");
  for (const char* prefix : {"run/m-1", "run/m-2", "run/m-3", "copy/m-2", "copy/m-3"})
    disk_.write_file(std::string(prefix) + ".index", "");
  EXPECT_EQ(latest_checkpoint(disk_, "copy"), "copy/m-3");
  EXPECT_EQ(checkpoint_candidates(disk_, "copy"), (Paths{"copy/m-3", "copy/m-2", "/run/m-1"}));
  EXPECT_EQ(get_checkpoint_state(disk_, "copy")->all_model_checkpoint_paths,
            (Paths{"/run/m-1", "/run/m-2", "/run/m-3"}))
      << "reading the file changes no path";
  disk_.remove_file("copy/m-3.index");
  EXPECT_EQ(latest_checkpoint(disk_, "copy"), "/run/m-3") << "what is not in the directory is meant as it is written";
}

TEST_F(CheckpointStateTest, StepsAreTheNumbersBehindTheLastDash) {
  EXPECT_EQ(step_of_checkpoint("run/m.ckpt-100"), 100);
  EXPECT_EQ(step_of_checkpoint("a-b-00000007"), 7);
  for (const char* none : {"m", "m-", "m-x", "m-1x", "dir-5/m", "m-99999999999999999999"})
    EXPECT_FALSE(step_of_checkpoint(none)) << none;
}

TEST_F(CheckpointStateTest, NoOtherCandidateIsTakenForThoseOfAStateFileThatCannotBeRead) {
  for (const char* prefix : {"run/m-1", "run/m-2"}) disk_.write_file(std::string(prefix) + ".index", "");
  update_checkpoint_state(disk_, "run", {.model_checkpoint_path = "run/m-1"});  // the training went back
  FaultyFileSystem faulty(disk_);
  using enum testing::FileOperation;
  for (const testing::FileOperation kind : {OpenReadable, Size, Read}) {
    faulty.fail_at(kind, 1, ErrorCode::PermissionDenied);
    EXPECT_THROW(static_cast<void>(checkpoint_candidates(faulty, "run")), PermissionDeniedError);
    faulty.fail_from(kind, 1, ErrorCode::DataLoss);  // the device's error
    EXPECT_THROW(static_cast<void>(checkpoint_candidates(faulty, "run")), UnknownError);
    faulty.reset();
    faulty.fail_at(kind, 1, ErrorCode::DataLoss);
    EXPECT_EQ(checkpoint_candidates(faulty, "run"), (Paths{"run/m-1", "run/m-2"})) << "asked again";
  }
}

}  // namespace
}  // namespace trainhook
