// SPDX-License-Identifier: Apache-2.0
/// @file
/// DirectoryHold: one session has a directory, whatever happens to the file that says so.
#include <trainhook/checkpoint/directory_hold.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <temporary_folder.hpp>

#include <trainhook/core/error.hpp>
#include <trainhook/io/posix_file_system.hpp>
#include <trainhook/io/whole_file.hpp>
#include <trainhook/testing/faulty_file_system.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/manual_clock.hpp>
#include <trainhook/testing/memory_file_system.hpp>

namespace trainhook {
namespace {

using detail::DirectoryHold;
using detail::LockHolder;
using detail::read_holder;
using testing::FileOperation;

/// The test's parameter: whether the file system has locks.
class DirectoryHoldTest : public ::testing::TestWithParam<bool> {
 protected:
  DirectoryHoldTest() {
    disk_.make_directories("run");
    if (!GetParam()) faulty_.fail_from(FileOperation::LockFile, 1, ErrorCode::Unimplemented);
    clock_.auto_advance(true);
  }

  [[nodiscard]] std::unique_ptr<DirectoryHold> take() {
    return std::make_unique<DirectoryHold>(faulty_, "run", clock_);
  }
  [[nodiscard]] std::optional<LockHolder> holder() { return read_holder(disk_, file_); }
  void save(int step) { disk_.write_file("run/model.ckpt-" + std::to_string(step) + ".index", ""); }

  /// Why the holder may not save; empty: it may.
  [[nodiscard]] static std::string refusal(DirectoryHold& hold, std::int64_t step) {
    try {
      hold.confirm(step);
    } catch (const FailedPreconditionError& error) { return error.what(); }
    return {};
  }

  testing::LogLines log_;
  testing::ManualClock clock_;
  testing::MemoryFileSystem disk_;
  testing::FaultyFileSystem faulty_{disk_};
  const std::string file_ = GetParam() ? "run/.checkpoint_lock" : "run/.checkpoint_lease";
  const std::string name_ = GetParam() ? "lock" : "lease";
};

INSTANTIATE_TEST_SUITE_P(LocksAndLeases, DirectoryHoldTest, ::testing::Bool(),
                         [](const auto& suite) { return suite.param ? "Lock" : "Lease"; });

TEST_P(DirectoryHoldTest, ItsFileNamesTheHolder) {
  const auto hold = take();
  ASSERT_TRUE(holder().has_value());
  EXPECT_EQ(holder()->process, detail::this_process());
  EXPECT_TRUE(disk_.contents(file_).starts_with("trainhook " + name_ + " 1\n"));
  EXPECT_THROW(static_cast<void>(take()), FailedPreconditionError);
  EXPECT_EQ(refusal(*hold, 1), "");
}

TEST_P(DirectoryHoldTest, NamesNobodyOnceItIsGivenUp) {
  take().reset();
  EXPECT_EQ(disk_.files(), GetParam() ? std::vector<std::string>{file_} : std::vector<std::string>{});
  EXPECT_EQ(holder(), std::nullopt);
}

TEST_P(DirectoryHoldTest, AnotherThatCameAndWentAndSavedNothingChangesNothing) {
  const auto hold = take();
  disk_.remove_file(file_);
  take().reset();
  EXPECT_EQ(refusal(*hold, 20), "");
  EXPECT_EQ(log_.count("was removed and is recreated"), 1U);
}

TEST_P(DirectoryHoldTest, OneThatWasKilledIsStillNamedAndNotSavedOver) {
  const auto hold = take();
  LockHolder killed = detail::new_holder();
  killed.process.start += "0";
  disk_.write_file(file_, detail::holder_text(name_, killed));
  EXPECT_NE(refusal(*hold, 20), "");
  EXPECT_EQ(holder()->id, killed.id);
}

TEST_P(DirectoryHoldTest, AFileThatWasRemovedIsMadeAgainWithAWarning) {
  save(3);
  const auto hold = take();
  const std::string id = holder()->id;
  hold->confirm(10);
  save(10);
  disk_.remove_file(file_);
  EXPECT_EQ(refusal(*hold, 20), "");
  EXPECT_EQ(holder()->id, id);
  EXPECT_EQ(log_.count("was removed and is recreated"), 1U);
  EXPECT_THROW(static_cast<void>(take()), FailedPreconditionError);
}

TEST_P(DirectoryHoldTest, AClaimThatAnotherHadMeanwhileIsNotTakenBack) {
  save(3);
  const auto frozen = take();
  frozen->confirm(10);
  save(10);
  disk_.remove_file(file_);
  {
    const auto other = take();
    other->confirm(60);
    save(60);
  }
  const std::vector<std::string> before = disk_.files();
  for (int i = 0; i < 2; ++i) {
    const std::string why = refusal(*frozen, 20);
    EXPECT_NE(why.find("another session has trained there to step 60, which it saved as run/model.ckpt-60"),
              std::string::npos)
        << why;
    EXPECT_EQ(disk_.files(), before) << "nothing is written";
  }
  EXPECT_EQ(log_.count("recreated"), 0U);
}

TEST_P(DirectoryHoldTest, AnothersIdInTheFileIsNeverOverwritten) {
  const auto hold = take();
  disk_.remove_file(file_);
  const auto other = take();
  const std::string theirs = disk_.contents(file_);
  for (int i = 0; i < 2; ++i) {
    const std::string why = refusal(*hold, 20);
    EXPECT_NE(why.find("the " + name_ + " " + file_ + " now belongs to process " + std::to_string(::getpid())),
              std::string::npos)
        << why;
  }
  hold->announce_end();
  EXPECT_EQ(disk_.contents(file_), theirs);
  EXPECT_EQ(refusal(*other, 20), "");
}

TEST_P(DirectoryHoldTest, AFileWithAnotherInodeAndTheOwnIdIsTheOwnOne) {
  const auto hold = take();
  disk_.write_file(file_, disk_.contents(file_));
  EXPECT_EQ(refusal(*hold, 10), "");
  EXPECT_EQ(log_.count("W "), 0U);
  EXPECT_THROW(static_cast<void>(take()), FailedPreconditionError) << "it is locked again";
}

TEST_P(DirectoryHoldTest, ANewHolderWaitsForOneThatIsEnding) {
  auto ending = take();
  ending->announce_end();
  const Duration start = clock_.monotonic_now();
  int tries = 0;
  faulty_.set_callback([&](FileOperation operation, const std::string& path) {
    if (operation == FileOperation::OpenReadable && path == file_ && ++tries == 3) ending.reset();
  });
  const auto next = take();
  EXPECT_EQ(ending, nullptr);
  EXPECT_LT(clock_.monotonic_now() - start, std::chrono::seconds(1));
  EXPECT_EQ(log_.count("I Waits for process " + std::to_string(::getpid())), 1U);
  EXPECT_FALSE(holder()->is_ending);
  EXPECT_EQ(refusal(*next, 1), "");
}

TEST_P(DirectoryHoldTest, ANewHolderWaitsTenSecondsAtMost) {
  const auto ending = take();
  ending->announce_end();
  ending->announce_end();
  const Duration start = clock_.monotonic_now();
  EXPECT_THROW(static_cast<void>(take()), FailedPreconditionError);
  EXPECT_GE(clock_.monotonic_now() - start, std::chrono::seconds(10));
  EXPECT_LT(clock_.monotonic_now() - start, std::chrono::seconds(11));
  EXPECT_EQ(refusal(*ending, 1), "") << "its last checkpoint is saved";
}

TEST_P(DirectoryHoldTest, AnyOtherHolderIsRefusedAtOnce) {
  const auto hold = take();
  const Duration start = clock_.monotonic_now();
  EXPECT_THROW(static_cast<void>(take()), FailedPreconditionError);
  LockHolder elsewhere = detail::new_holder();
  elsewhere.process.host = "elsewhere";
  elsewhere.is_ending = true;
  LockHolder dead = detail::new_holder();
  dead.process.start += "0";
  dead.is_ending = true;
  disk_.create_writable(file_, WriteMode::Truncate)->append(detail::holder_text(name_, elsewhere));
  EXPECT_THROW(static_cast<void>(take()), FailedPreconditionError);
  if (GetParam()) {  // an earlier version locks the file and does not write to it
    for (const std::string& text : {holder_text(name_, dead), std::string()}) {
      disk_.create_writable(file_, WriteMode::Truncate)->append(text);
      EXPECT_THROW(static_cast<void>(take()), FailedPreconditionError) << text;
    }
  }
  EXPECT_EQ(clock_.monotonic_now(), start);
}

TEST(DirectoryHold, ALockThatCannotBeWrittenIsHeldAndWrittenAtTheNextSave) {
  testing::LogLines log;
  testing::MemoryFileSystem disk;
  disk.make_directories("run");
  disk.set_capacity(10);
  DirectoryHold hold(disk, "run", system_clock());
  EXPECT_EQ(log.count("W the lock run/.checkpoint_lock could not be written"), 1U);
  EXPECT_THROW(DirectoryHold(disk, "run", system_clock()), FailedPreconditionError);
  EXPECT_THROW(hold.confirm(1), ResourceExhaustedError);
  disk.set_capacity(1'000'000);
  EXPECT_NO_THROW(hold.confirm(1));
  EXPECT_TRUE(read_holder(disk, "run/.checkpoint_lock").has_value());
  EXPECT_EQ(log.lines.size(), 1U);
}

TEST(DirectoryHold, AnEmptyLockOfAnEarlierVersionIsTakenAndOneThatIsHeldIsNot) {
  const support::TemporaryFolder folder;
  const std::string path = folder.file(".checkpoint_lock");
  write_file_atomically(posix_file_system(), path, "");
  std::unique_ptr<FileLock> earlier = posix_file_system().lock_file(path);
  EXPECT_THROW(DirectoryHold(posix_file_system(), folder.path(), system_clock()), FailedPreconditionError);
  earlier.reset();
  DirectoryHold hold(posix_file_system(), folder.path(), system_clock());
  EXPECT_THROW(static_cast<void>(posix_file_system().lock_file(path)), FailedPreconditionError);
  hold.confirm(1);
  posix_file_system().remove_file(path);
  earlier = posix_file_system().lock_file(path);
  EXPECT_THROW(hold.confirm(2), FailedPreconditionError) << "an earlier version has it, and does not say so";
}

TEST(DirectoryHold, AFileOfAnotherProgramIsNotSigned) {
  testing::LogLines log;
  testing::MemoryFileSystem disk;
  disk.write_file("notes", "not to be lost\n");
  disk.make_directories("run");
  disk.make_link("run/.checkpoint_lock", "/notes");
  DirectoryHold hold(disk, "run", system_clock());
  EXPECT_EQ(log.count("W the lock run/.checkpoint_lock could not be written"), 1U);
  EXPECT_THROW(hold.confirm(1), FailedPreconditionError);
  EXPECT_EQ(disk.contents("notes"), "not to be lost\n");
}

TEST(DirectoryHold, AForkedChildDoesNotSpeakForItsParent) {
  const support::TemporaryFolder folder;
  const std::string path = folder.file(".checkpoint_lock");
  DirectoryHold hold(posix_file_system(), folder.path(), system_clock());
  const pid_t child = ::fork();
  if (child == 0) {
    hold.announce_end();
    bool refused = false;
    try {
      hold.confirm(1);
    } catch (const FailedPreconditionError&) { refused = true; }
    ::_exit(refused ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_FALSE(read_holder(posix_file_system(), path)->is_ending);
  EXPECT_NO_THROW(hold.confirm(1));
  hold.announce_end();
  EXPECT_TRUE(read_holder(posix_file_system(), path)->is_ending);
}

}  // namespace
}  // namespace trainhook
