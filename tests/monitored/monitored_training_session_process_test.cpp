// SPDX-License-Identifier: Apache-2.0
/// @file
/// Training programs that end with their session open, that fork, and whose output nobody reads.
#include <trainhook/monitored/monitored_training_session.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <graph_export_double.hpp>

#include <temporary_folder.hpp>

#include <trainhook/checkpoint/checkpoint_state.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/hooks/async_checkpoint_saver_hook.hpp>
#include <trainhook/hooks/progress_hook.hpp>
#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/io/posix_file_system.hpp>
#include <trainhook/io/whole_file.hpp>
#include <trainhook/loop/loop_session.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/process_faults.hpp>

namespace trainhook {
namespace {

using Session = MonitoredSession<LoopSession>;

/// A loop whose state is how often it ran.
struct Loop {
  Loop() {
    session.variable("value", value);
    session.export_graph(support::kGraphExportDouble);  // so that the first save makes the event file
  }
  LoopSession session{};
  double value = 0;
};

MonitoredTrainingSessionOptions options_in(const std::string& directory) {
  return {
      .checkpoint_dir = directory, .save_checkpoint_steps = 100, .save_summaries_steps = 1, .log_step_count_steps = 1};
}

TEST(MonitoredTrainingSessionDeathTest, ASessionOfNamespaceScopeSavesItsLastStepWhenTheProcessEnds) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // the child has used nothing of the library before
  const support::TemporaryFolder folder;
  constexpr const char* kWhere = "TRAINHOOK_TEST_STATIC_SESSION";
  ::setenv(kWhere, folder.path().c_str(), 0);  // the child keeps its parent's
  EXPECT_EXIT(
      {
        static Loop loop;
        static std::unique_ptr<Session> session;  // is older than whatever the library makes now
        session.reset(new Session(monitored_training_session(loop.session, options_in(std::getenv(kWhere)))));
        for (int i = 0; i < 3; ++i) session->run([&] { loop.value += 1; });
        std::exit(0);
      },
      ::testing::ExitedWithCode(0), "Saving checkpoints for 3 into");
  EXPECT_EQ(latest_checkpoint(std::string(std::getenv(kWhere))), folder.file("model.ckpt-3"));
  ::unsetenv(kWhere);
}

/// The files of a directory, by name and content.
std::vector<std::string> files_in(const std::string& directory) {
  std::vector<std::string> all;
  for (const std::string& name : posix_file_system().list_directory(directory))
    all.push_back(name + ": " + read_file(posix_file_system(), directory + "/" + name));
  return all;
}

TEST(MonitoredTrainingSession, AForkedChildWritesNothingWhateverItDoes) {
  testing::LogLines log;
  const support::TemporaryFolder folder;
  Loop loop;
  auto session = std::make_unique<Session>(monitored_training_session(loop.session, options_in(folder.path())));
  const auto step = [&] { loop.value += 1; };
  session->run(step);
  session->run(step);
  const std::vector<std::string> before = files_in(folder.path());
  for (const bool closes : {true, false}) {
    EXPECT_EQ(testing::run_in_forked_child([&] {
                try {
                  session->run(step);
                } catch (const FailedPreconditionError&) {  // it says whose session that is
                }
                if (closes) session->close();
                session.reset();
              }),
              0);
    EXPECT_EQ(files_in(folder.path()), before);
  }
  session->run(step);
  session->close();
  EXPECT_EQ(latest_checkpoint(folder.path()), folder.file("model.ckpt-3"));
  EXPECT_EQ(log.count("E "), 0U);
}

TEST(MonitoredTrainingSession, AChildThatIsForkedInsideAStepEndsNothingOfIt) {
  testing::LogLines log;
  const support::TemporaryFolder folder;
  Loop loop;
  MonitoredTrainingSessionOptions options = options_in(folder.path());
  options.save_checkpoint_steps = 2;
  auto session = monitored_training_session(loop.session, options);
  session.run([&] { loop.value += 1; });
  const std::vector<std::string> before = files_in(folder.path());
  pid_t child = -1;
  int status = -1;
  try {
    session.run([&] {
      loop.value += 1;
      child = ::fork();
      if (child > 0) ::waitpid(child, &status, 0);
    });
  } catch (const FailedPreconditionError&) {
    if (child == 0) ::_exit(files_in(folder.path()) == before ? 0 : 2);
    throw;
  }
  if (child == 0) ::_exit(1);  // its step would have ended
  EXPECT_EQ(status, 0);
  EXPECT_EQ(latest_checkpoint(folder.path()), folder.file("model.ckpt-2"));
  session.close();
}

TEST(MonitoredTrainingSession, AForkedChildDoesNotTakeTheDirectoryWhenItsParentIsGone) {
  const support::TemporaryFolder folder;
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  EXPECT_EQ(testing::run_in_forked_child([&] {
              testing::LogLines log;
              Loop loop;
              auto session =
                  std::make_unique<Session>(monitored_training_session(loop.session, options_in(folder.path())));
              session->run([] {});
              if (::fork() != 0) ::_exit(0);  // without a word, as after a kill
              char told = 'n';
              try {
                session->run([] {});
              } catch (const FailedPreconditionError&) { told = 'y'; }
              session.reset();
              static_cast<void>(::write(ends[1], &told, 1));
            }),
            0);
  ::close(ends[1]);
  char told = 0;
  EXPECT_EQ(::read(ends[0], &told, 1), 1);
  EXPECT_EQ(told, 'y');
  ::close(ends[0]);
  testing::LogLines log;
  Loop loop;
  auto resumed = monitored_training_session(loop.session, options_in(folder.path()));
  EXPECT_EQ(resumed.global_step(), 0) << "nobody has saved step 1";
  resumed.close();
}

TEST(MonitoredTrainingSession, OutputThatNobodyReadsEndsNothing) {
  const support::TemporaryFolder folder;
  EXPECT_EQ(testing::run_in_forked_child([&] {
              std::array<int, 2> ends{};
              if (::pipe(ends.data()) != 0 || ::dup2(ends[1], STDERR_FILENO) < 0) throw InternalError("no pipe");
              ::close(ends[0]);
              Loop loop;
              MonitoredTrainingSessionOptions options = options_in(folder.path());
              options.hooks = {StopAtStepHook({.last_step = 3}), ProgressHook({.last_step = 3})};
              auto session = monitored_training_session(loop.session, options);
              while (!session.should_stop()) session.run([&] { loop.value += 1; });
              session.close();
            }),
            0);
  EXPECT_EQ(latest_checkpoint(folder.path()), folder.file("model.ckpt-3"));
}

TEST(MonitoredTrainingSession, ALimitOfFileSizesFailsASaveAndEndsNoProcess) {
  testing::LogLines log;
  const support::TemporaryFolder folder;
  Loop loop;
  auto session = monitored_training_session(loop.session, options_in(folder.path()));
  session.run([] {});
  {
    const testing::FileSizeLimit limit(16);
    EXPECT_THROW(session.close(), ResourceExhaustedError);
  }
  EXPECT_EQ(latest_checkpoint(folder.path()), folder.file("model.ckpt-0"));
}

TEST(MonitoredTrainingSession, TrainsWhereNoThreadCanBeStarted) {
  testing::LogLines log;
  const support::TemporaryFolder folder;
  const testing::NoThreads no_threads;
  if (!no_threads.works()) GTEST_SKIP() << "this C library cannot refuse threads";
  Loop loop;
  MonitoredTrainingSessionOptions options = options_in(folder.path());
  options.save_checkpoint_steps = {};
  options.hooks = {AsyncCheckpointSaverHook({.checkpoint_dir = folder.path(), .save_steps = 1})};
  auto session = monitored_training_session(loop.session, options);
  for (int i = 0; i < 3; ++i) session.run([&] { loop.value += 1; });
  session.close();
  EXPECT_EQ(latest_checkpoint(folder.path()), folder.file("model.ckpt-3"));
  EXPECT_EQ(log.count("cannot start a thread"), 2U) << "the saves' and the events'";
}

}  // namespace
}  // namespace trainhook
