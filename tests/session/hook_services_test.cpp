// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of HookServices, and of SessionServices, which a session has.
#include <trainhook/session/hook_services.hpp>

#include <optional>
#include <string>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/events/file_writer_cache.hpp>
#include <trainhook/session/session_run_hook.hpp>
#include <trainhook/testing/manual_clock.hpp>
#include <trainhook/testing/memory_file_system.hpp>

namespace trainhook {
namespace {

TEST(HookServices, LendsWhatItWasGiven) {
  testing::MemoryFileSystem disk;
  testing::ManualClock clock;
  FileWriterCache writers({.file_system = &disk, .clock = &clock});
  const detail::SessionServices services(disk, clock, writers);
  EXPECT_EQ(&services.file_system(), &disk);
  EXPECT_EQ(&services.clock(), &clock);
  EXPECT_EQ(&services.writers(), &writers);
}

TEST(HookServices, TellsHooksThatTheEndBegins) {
  testing::MemoryFileSystem disk;
  testing::ManualClock clock;
  FileWriterCache writers({.file_system = &disk, .clock = &clock});
  detail::SessionServices services(disk, clock, writers);
  services.begin_end();
  std::string told;
  services.before_end([&] { told += "a"; });
  services.before_end([&] { told += "b"; });
  services.begin_end();
  EXPECT_EQ(told, "ab");
}

TEST(HookServices, NothingForbidsASaveIfNoHookCanVetoIt) {
  testing::MemoryFileSystem disk;
  testing::ManualClock clock;
  FileWriterCache writers({.file_system = &disk, .clock = &clock});
  detail::SessionServices services(disk, clock, writers);
  EXPECT_EQ(services.save_veto(), std::nullopt);
  std::optional<std::string> reason;
  services.set_save_veto([&] { return reason; });
  EXPECT_EQ(services.save_veto(), std::nullopt);
  reason = "loss is NaN";
  EXPECT_EQ(services.save_veto(), "loss is NaN");
}

TEST(HookServices, WaitsForTheSavesOfEachHook) {
  testing::MemoryFileSystem disk;
  testing::ManualClock clock;
  FileWriterCache writers({.file_system = &disk, .clock = &clock});
  detail::SessionServices services(disk, clock, writers);
  services.wait_for_background_saves();
  std::string waited;
  services.before_recovery([&] { waited += "a"; });
  services.before_recovery([&] { waited += "b"; });
  EXPECT_EQ(waited, "");
  services.wait_for_background_saves();
  services.wait_for_background_saves();
  EXPECT_EQ(waited, "abab") << "at each loss";
}

TEST(HookServices, TheFirstReasonToStopCountsUntilItIsTaken) {
  testing::MemoryFileSystem disk;
  testing::ManualClock clock;
  FileWriterCache writers({.file_system = &disk, .clock = &clock});
  detail::SessionServices services(disk, clock, writers);
  services.set_stop_reason("a");
  services.set_stop_reason("b");
  EXPECT_EQ(services.stop_reason(), "a");
  EXPECT_EQ(services.take_stop_reason(), "a");
  EXPECT_EQ(services.stop_reason(), "");
  services.set_stop_reason("c");
  EXPECT_EQ(services.stop_reason(), "c");
}

TEST(HookServices, InAJobASaveIsAWishUntilAllHaveAgreed) {
  testing::MemoryFileSystem disk;
  testing::ManualClock clock;
  FileWriterCache writers({.file_system = &disk, .clock = &clock});
  detail::SessionServices services(disk, clock, writers);
  services.request_save();
  EXPECT_EQ(services.num_save_requests(), 1U);

  struct Others final : Peers {
    bool agrees_to_save() override {
      ++wishes;
      return false;
    }
    int wishes = 0;
  } others;
  detail::SessionServices in_a_job(disk, clock, writers, others);
  in_a_job.request_save();
  EXPECT_EQ(in_a_job.num_save_requests(), 0U);
  EXPECT_EQ(others.wishes, 1);
  in_a_job.grant_save();
  EXPECT_EQ(in_a_job.num_save_requests(), 1U);
}

TEST(HookServices, TwoHooksDoNotPublishUnderOneName) {
  testing::MemoryFileSystem disk;
  testing::ManualClock clock;
  FileWriterCache writers({.file_system = &disk, .clock = &clock});
  detail::SessionServices services(disk, clock, writers);
  struct Hook final : SessionRunHook {
  } first, second;
  services.claim_metrics(first, "First", "eval");
  services.claim_metrics(first, "First", "eval");
  services.claim_metrics(second, "Second", "test");
  try {
    services.claim_metrics(second, "Second", "eval");
    FAIL();
  } catch (const InvalidArgumentError& error) {
    EXPECT_STREQ(
        error.what(),
        "Second 'eval': a hook of this session, First 'eval', publishes its metrics as 'eval/...' too, so that "
        "the values of both would be mixed; give each its own name");
  }
}

}  // namespace
}  // namespace trainhook
