// SPDX-License-Identifier: Apache-2.0
/// @file
/// PrometheusTextfileHook: what the file says, when it is there, and who may read it.
#include <trainhook/watch/prometheus_textfile_hook.hpp>

#include <chrono>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <trainhook/core/error.hpp>
#include <trainhook/io/posix_file_system.hpp>
#include <trainhook/testing/faulty_file_system.hpp>

#include "temporary_folder.hpp"
#include "training_double.hpp"

namespace trainhook {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Exported : support::Process {
  void run_timed(int times, double seconds) {
    for (int i = 0; i < times; ++i) {
      run();
      advance_clock(seconds);
    }
  }
  /// The file, without the memory, which differs.
  std::string text() {
    std::string all = disk.contents("train.prom");
    const auto memory = all.find("# HELP trainhook_resident_memory_bytes");
    if (memory == std::string::npos) return all;
    const auto value = all.find("\ntrainhook_resident_memory_bytes", memory);
    return all.erase(memory, all.find('\n', value + 1) + 1 - memory);
  }
};

TEST(PrometheusTextfileHook, RefusesBadOptions) {
  EXPECT_THROW(PrometheusTextfileHook("train.txt"), InvalidArgumentError);
  EXPECT_THROW(PrometheusTextfileHook("run/.prom"), InvalidArgumentError);
  EXPECT_THROW(PrometheusTextfileHook("train.prom", {.every_secs = 0s}), InvalidArgumentError);
}

TEST(PrometheusTextfileHook, SaysStepsAndTimes) {
  Exported training;
  training.add(PrometheusTextfileHook("train.prom", {.run = "first"}));
  training.start();
  training.run_timed(20, 1);
  EXPECT_EQ(training.text(),
            "# HELP trainhook_steps_total Steps that the model was trained.\n"
            "# TYPE trainhook_steps_total counter\n"
            "trainhook_steps_total{run=\"first\"} 16\n"
            "# HELP trainhook_last_step_timestamp_seconds When the last step ended, since the Unix epoch.\n"
            "# TYPE trainhook_last_step_timestamp_seconds gauge\n"
            "trainhook_last_step_timestamp_seconds{run=\"first\"} 1700003615\n");
  EXPECT_THAT(training.disk.files(), ElementsAre("train.prom"));
  training.end();
  EXPECT_FALSE(training.disk.exists("train.prom")) << "the run has ended";
}

TEST(PrometheusTextfileHook, SaysWhenTheRunSavedLast) {
  Exported training;
  training.add(PrometheusTextfileHook("train.prom", {.every_secs = 1s}));
  training.start();
  training.run_timed(3, 1);
  training.services.note_save("run/model.ckpt-3", 1s);
  training.run_timed(4, 1);
  EXPECT_THAT(training.text(), HasSubstr("trainhook_last_checkpoint_timestamp_seconds{run=\"\"} 1700003603\n"));
}

TEST(PrometheusTextfileHook, ASecondSessionSaysItsOwn) {
  const auto hook =
      std::make_shared<PrometheusTextfileHook>("train.prom", PrometheusTextfileHook::Options{.every_secs = 1s});
  Exported first;
  first.services.set_checkpoint_dir("a");
  first.add(hook);
  first.start();
  first.services.note_save("a/model.ckpt-1", 1s);
  first.run_timed(2, 1);
  EXPECT_THAT(first.text(), HasSubstr("trainhook_last_checkpoint_timestamp_seconds{run=\"a\"} "));
  Exported second;
  second.services.set_checkpoint_dir("b");
  second.add(hook);
  second.start();
  second.run_timed(2, 1);
  EXPECT_THAT(second.text(), HasSubstr("trainhook_steps_total{run=\"b\"} 2\n"));
  EXPECT_THAT(second.text(), ::testing::Not(HasSubstr("last_checkpoint")));
}

TEST(PrometheusTextfileHook, SaysMetricsByName) {
  Exported training;
  training.add(PrometheusTextfileHook(
      "train.prom", {.run = "a \"b\" \\", .metrics = {"eval/loss", "never", "eval/worst"}, .every_secs = 1s}));
  training.start();
  training.services.publish("eval/loss", {.step = 1, .value = 0.5});
  training.services.publish("eval/worst", {.step = 1, .value = std::numeric_limits<double>::infinity()});
  training.run_timed(1, 1);
  EXPECT_THAT(training.text(), ::testing::EndsWith("# HELP trainhook_metric What a hook of the run measured last.\n"
                                                   "# TYPE trainhook_metric gauge\n"
                                                   R"(trainhook_metric{name="eval/loss",run="a \"b\" \\"} 0.5)"
                                                   "\n"
                                                   R"(trainhook_metric{name="eval/worst",run="a \"b\" \\"} +Inf)"
                                                   "\n"));
}

TEST(PrometheusTextfileHook, AFailureIsLoggedAndTriedAgain) {
  Exported training;
  testing::FaultyFileSystem faulty(training.disk);
  training.use_disk(faulty);
  training.add(PrometheusTextfileHook("metrics/train.prom", {.every_secs = 1s}));
  const support::LogLines log;
  training.start();
  faulty.fail_from(1);
  training.run_timed(1, 1);
  EXPECT_THAT(log.lines, ElementsAre(HasSubstr("W PrometheusTextfileHook: metrics/train.prom could not be written: ")));
  faulty.reset();
  training.run_timed(1, 1);
  EXPECT_THAT(training.disk.files(), ElementsAre("metrics/train.prom"));
}

TEST(PrometheusTextfileHook, EverybodyMayReadTheFile) {
  const support::TemporaryFolder folder;
  support::Process training;
  training.use_disk(posix_file_system());
  training.add(PrometheusTextfileHook(folder.file("train.prom")));
  training.start();
  const ::mode_t mask = ::umask(077);
  training.run();
  ::umask(mask);
  using std::filesystem::perms;
  EXPECT_EQ(std::filesystem::status(folder.file("train.prom")).permissions(),
            perms::owner_read | perms::owner_write | perms::group_read | perms::others_read);
}

}  // namespace
}  // namespace trainhook
