// SPDX-License-Identifier: Apache-2.0
/// @file
/// Which steps have a row, and when it is on the disk; CsvLoggerHook and JsonLinesHook: the text of their files.
#include <trainhook/hooks/row_logger_hook.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <expect_error.hpp>
#include <temporary_folder.hpp>

#include <trainhook/core/error.hpp>
#include <trainhook/io/posix_file_system.hpp>
#include <trainhook/testing/faulty_file_system.hpp>

#include "training_double.hpp"

namespace trainhook {
namespace {

using support::LogLines;
using support::Outside;
using support::Process;
using support::TrainingDouble;

/// A process that logs the step before each run, every other step, and a metric.
struct Training : TrainingDouble {
  explicit Training(Outside& outside, std::int64_t first_step = 0) : TrainingDouble(outside) {
    add(CsvLoggerHook({{"now", script.global_step.read}}, {.path = "log", .every_n_steps = 2, .metrics = {"m"}}));
    set_step(first_step);
  }
};

TEST(RowLoggerHook, AStepWithAMetricHasARowToo) {
  Outside outside;
  Training training(outside);
  training.start();
  training.services.publish("m", {1, 0.5});
  training.run(3);
  training.end();
  EXPECT_EQ(outside.disk.contents("log"), "step,now,m\n1,,0.5\n2,1,\n");
}

TEST(RowLoggerHook, AMetricJoinsTheRowOfItsStepUntilTheNextRunBegins) {
  Outside outside;
  Training training(outside);
  training.start();
  training.run(2);
  training.services.publish("m", {2, 0.5});
  training.run(2);
  training.services.publish("m", {4, 0.25});
  training.end();
  EXPECT_EQ(outside.disk.contents("log"), "step,now,m\n2,1,0.5\n4,3,0.25\n");
}

TEST(RowLoggerHook, SaysThatAMetricWasNeverPublished) {
  Outside outside;
  Training training(outside);
  training.start();
  training.run(2);
  const LogLines log;
  training.end();
  EXPECT_EQ(log.count("W CsvLoggerHook: no value of 'm' was published in this run"), 1U);
  EXPECT_EQ(outside.disk.contents("log"), "step,now,m\n2,1,\n");
}

TEST(RowLoggerHook, TakesEveryNumberAndRefusesOtherValuesBeforeTheFirstStep) {
  Outside outside;
  TrainingDouble training(outside);
  const Output count = training.script.value(
      "count", [] { return Tensor(std::size_t{7}); }, DType::UInt64);
  training.add(CsvLoggerHook(count, {.path = "log", .every_n_steps = 1}));
  training.start();
  training.run();
  training.end();
  EXPECT_EQ(outside.disk.contents("log"), "step,count\n1,7\n");
  TrainingDouble other(outside);
  const Output wave = other.script.value(
      "wave", [] { return Tensor(DType::Complex64, {}); }, DType::Complex64);
  other.add(CsvLoggerHook(wave, {.path = "waves", .every_n_steps = 1}));
  testing::expect_error({"CsvLoggerHook", "'wave:0'", "complex64"}, [&] { other.begin(); });
}

TEST(RowLoggerHook, AFailedSyncFailsOneSaveAndNotTheRun) {
  Outside outside;
  testing::FaultyFileSystem faulty(outside.disk);
  Training training(outside);
  training.use_disk(faulty);
  training.start();
  training.run(5);
  faulty.fail_at(testing::FileOperation::Sync, 1, ErrorCode::DataLoss);
  EXPECT_THROW(static_cast<void>(training.hooks()[0]->save_state()), DataLossError);
  training.run(2);
  EXPECT_NO_THROW(static_cast<void>(training.hooks()[0]->save_state()));
  training.end();
  EXPECT_EQ(outside.disk.contents("log"), "step,now,m\n2,1,\n4,3,\n6,5,\n");
}

TEST(RowLoggerHook, APathThatIsTooLongIsRefusedBeforeTheFirstStep) {
  const support::TemporaryFolder folder;
  Outside outside;
  TrainingDouble training(outside);
  training.use_disk(posix_file_system());
  training.add(CsvLoggerHook({{"now", training.script.global_step.read}},
                             {.path = folder.file(std::string(256, 'm')), .every_n_steps = 1}));
  testing::expect_error({"CsvLoggerHook", "path", "too long"}, [&] { training.begin(); });
}

TEST(RowLoggerHook, AMetricOfAStepThatIsWrittenIsTooLate) {
  Outside outside;
  Training training(outside);
  training.start();
  training.run(3);
  training.services.publish("m", {1, 0.5});
  training.run();
  training.services.publish("m", {2, 0.5});
  training.end();
  EXPECT_EQ(outside.disk.contents("log"), "step,now,m\n2,1,\n4,3,\n");
}

TEST(RowLoggerHook, TheNewestRowIsInTheStateAndThoseBeforeAreOnTheDisk) {
  const LogLines quiet;
  Outside outside;
  StateValues state;
  {
    Training training(outside);
    training.start();
    training.run(4);
    state = training.hooks()[0]->save_state();
    training.run(3);
  }
  EXPECT_EQ(state.at("step").scalar<std::int64_t>(), 4);
  outside.disk.crash();
  EXPECT_EQ(outside.disk.contents("log"), "step,now,m\n2,1,\n");
  Training second(outside, 4);
  second.begin();
  second.hooks()[0]->load_state(state);
  second.create();
  second.services.publish("m", {4, 9});  // at its end, the first process had no time for it
  second.run(2);
  second.end();
  EXPECT_EQ(outside.disk.contents("log"), "step,now,m\n2,1,\n4,3,9\n6,5,\n");
}

TEST(RowLoggerHook, ASessionThatIsLostBeforeItsFirstRunCutsNoRows) {
  const LogLines quiet;
  Outside outside;
  const std::string before = "step,now,m\n2,1,\n4,3,\n6,5,\n";
  outside.disk.write_file("log", before);
  {
    Training lost(outside, 2);
    lost.start();
    static_cast<void>(lost.hooks()[0]->save_state());
    lost.hooks()[0]->abort(nullptr);
  }
  EXPECT_EQ(outside.disk.contents("log"), before);
  Training second(outside, 4);
  second.start();
  second.run();
  EXPECT_EQ(outside.disk.contents("log"), "step,now,m\n2,1,\n4,3,\n");
}

TEST(RowLoggerHook, ARunGoesOnOnlyWithTheFileThatItWrote) {
  const LogLines quiet;
  Outside outside;
  StateValues state;
  {
    Training training(outside);
    training.start();
    training.run(5);
    state = training.hooks()[0]->save_state();
  }
  const std::string before = outside.disk.contents("log");
  const auto resume = [&](const std::string& contents) {
    outside.disk.write_file("log", contents);
    Training second(outside, 5);
    second.begin();
    second.hooks()[0]->load_state(state);
    second.create();
    second.end();
  };
  const std::string others = "step,now,m\n2,7,\n";
  EXPECT_THROW(resume(others), FailedPreconditionError);
  EXPECT_EQ(outside.disk.contents("log"), others);
  resume(before + "6,5,\n");
  EXPECT_EQ(outside.disk.contents("log"), "step,now,m\n2,1,\n4,3,\n");
  EXPECT_EQ(outside.disk.files(), std::vector<std::string>{"log"}) << "what is cut is the run's own";
}

TEST(RowLoggerHook, TheLastCheckpointKnowsTheFileToo) {
  const LogLines quiet;
  Outside outside;
  Training training(outside);
  training.start();
  training.run(5);
  training.end();
  const StateValues state = training.hooks()[0]->save_state();
  const auto written = state.at("written").data<std::int64_t>();
  EXPECT_EQ(written[0], static_cast<std::int64_t>(outside.disk.file_size("log")));
  EXPECT_EQ(state.find("step"), nullptr) << "the last row is in the file";
  outside.disk.write_file("log", "step,now,m\n2,7,\n4,3,\n");
  Training second(outside, 5);
  second.begin();
  second.hooks()[0]->load_state(state);
  second.create();
  EXPECT_THROW(second.run(), FailedPreconditionError);
}

TEST(RowLoggerHook, ARecoveryCutsItsOwnRowsAndKeepsNoCopy) {
  const LogLines quiet;
  Outside outside;
  Training training(outside);
  training.start();
  training.run(5);
  training.set_step(0);
  training.create();
  training.run(2);
  training.end();
  EXPECT_EQ(outside.disk.contents("log"), "step,now,m\n2,1,\n");
  EXPECT_EQ(outside.disk.files(), std::vector<std::string>{"log"});
}

TEST(RowLoggerHook, TwoHooksOnOnePathAreAnError) {
  Outside outside;
  Training training(outside);
  training.add(CsvLoggerHook({{"now", training.script.global_step.read}}, {.path = "log", .every_n_steps = 2}));
  training.start();
  EXPECT_THROW(training.run(), FailedPreconditionError);
}

TEST(RowLoggerHook, SaysThatItsPeriodWasNeverOver) {
  const auto lines = [](std::int64_t first_step, int runs) {
    LogLines log;
    Outside outside;
    Training training(outside, first_step);
    training.start();
    training.run(runs);
    training.end();
    return log.count(
        "W CsvLoggerHook: log has no row, since the training ended before the first period did; give a "
        "smaller every_n_steps");
  };
  EXPECT_EQ(lines(0, 1), 1U);
  EXPECT_EQ(lines(0, 2), 0U);
  EXPECT_EQ(lines(3, 0), 0U) << "there was nothing to train";
}

TEST(RowLoggerHook, SaysNothingOfItsPeriodIfARunBeforeHasRows) {
  LogLines log;
  Outside outside;
  for (const int runs : {2, 1}) {
    Training training(outside, runs == 1 ? 2 : 0);
    training.start();
    training.run(runs);
    training.end();
  }
  EXPECT_EQ(log.count("has no row"), 0U);
}

TEST(RowLoggerHook, AnErrorLeavesTheLastRowInTheFile) {
  Outside outside;
  Training training(outside);
  training.start();
  training.run(2);
  training.hooks()[0]->abort(nullptr);
  EXPECT_EQ(outside.disk.contents("log"), "step,now,m\n2,1,\n");
}

TEST(RowLoggerHook, AValueThatIsNotOneNumberIsAnError) {
  Outside outside;
  TrainingDouble training(outside);
  training.add(CsvLoggerHook({training.script.value("pair", [] { return Tensor(DType::Float, Shape({2})); })},
                             {.path = "log", .every_n_steps = 1}));
  training.start();
  EXPECT_THROW(training.run(), InvalidArgumentError);
}

TEST(CsvLoggerHook, WritesARowAtTheMultiplesOfItsPeriod) {
  Process process;
  process.add(CsvLoggerHook({process.script.global_step.read}, {.path = "run/log.csv", .every_n_steps = 2}));
  process.start();
  process.run(5);
  process.end();
  EXPECT_EQ(process.disk.contents("run/log.csv"), "step,global_step/read\n2,1\n4,3\n");
}

TEST(CsvLoggerHook, QuotesWhatNeedsIt) {
  Process process;
  const std::string text = "a \"word\", and\nmore";
  const Output value = process.script.value(
      "text", [&] { return Tensor(text); }, DType::String);
  process.add(CsvLoggerHook({{"text, quoted", value}}, {.path = "log.csv", .every_n_steps = 1}));
  process.start();
  process.run(2);
  process.end();
  const std::string row = ",\"a \"\"word\"\", and\nmore\"\n";
  EXPECT_EQ(process.disk.contents("log.csv"), "step,\"text, quoted\"\n1" + row + "2" + row);
  Outside& outside = process;
  TrainingDouble second(outside);  // finds its rows again
  const LogLines quiet;
  second.add(CsvLoggerHook({{"text, quoted", second.script.value(
                                                 "text", [&] { return Tensor(text); }, DType::String)}},
                           {.path = "log.csv", .every_n_steps = 1}));
  second.set_step(1);
  second.start();
  second.end();
  EXPECT_EQ(process.disk.contents("log.csv"), "step,\"text, quoted\"\n1" + row);
}

TEST(CsvLoggerHook, WritesNanAndInfinityAsPythonReadsThem) {
  Process process;
  process.add(CsvLoggerHook({}, {.path = "log.csv", .metrics = {"a", "b", "c"}}));
  process.start();
  process.services.publish("a", {1, std::numeric_limits<double>::quiet_NaN()});
  process.services.publish("b", {1, std::numeric_limits<double>::infinity()});
  process.services.publish("c", {1, -std::numeric_limits<double>::infinity()});
  process.run();
  process.end();
  EXPECT_EQ(process.disk.contents("log.csv"), "step,a,b,c\n1,nan,inf,-inf\n");
}

TEST(CsvLoggerHook, RefusesOptionsThatMakeNoSense) {
  EXPECT_THROW(CsvLoggerHook({"loss"}, {.every_n_steps = 1}), InvalidArgumentError);
  EXPECT_THROW(CsvLoggerHook({"loss"}, {.path = "log"}), InvalidArgumentError);
  EXPECT_THROW(CsvLoggerHook({}, {.path = "log"}), InvalidArgumentError);
  EXPECT_THROW(CsvLoggerHook({"loss"}, {.path = "log", .every_n_steps = 1, .metrics = {"loss"}}), InvalidArgumentError);
  EXPECT_THROW(CsvLoggerHook({"step"}, {.path = "log", .every_n_steps = 1}), InvalidArgumentError);
}

TEST(JsonLinesHook, WritesOneObjectALineAndLeavesOutWhatHasNoValue) {
  Process process;
  process.add(JsonLinesHook({{"loss", process.script.value("loss", [] { return Tensor(0.25F); })}},
                            {.path = "run/log.jsonl", .every_n_steps = 2, .metrics = {"eval/accuracy"}}));
  process.start();
  process.run(2);
  process.services.publish("eval/accuracy", {3, 0.5});
  process.run();
  process.services.publish("eval/accuracy", {4, 0.75});
  process.run();
  process.end();
  EXPECT_EQ(process.disk.contents("run/log.jsonl"),
            "{\"step\":2,\"loss\":0.25}\n"
            "{\"step\":3,\"eval/accuracy\":0.5}\n"
            "{\"step\":4,\"loss\":0.25,\"eval/accuracy\":0.75}\n");
}

TEST(JsonLinesHook, EscapesText) {
  Process process;
  const std::string text = std::string("a\"b\\c\n\t\r") + '\1' + "\xc3\xa9";
  process.add(JsonLinesHook({{"the \"text\"", process.script.value("text", [&] { return Tensor(text); })}},
                            {.path = "log", .every_n_steps = 1}));
  process.start();
  process.run();
  process.end();
  EXPECT_EQ(process.disk.contents("log"),
            "{\"step\":1,\"the \\\"text\\\"\":\"a\\\"b\\\\c\\u000a\\u0009\\u000d\\u0001\xc3\xa9\"}\n");
}

TEST(JsonLinesHook, WritesTextAsUtf8) {
  LogLines log;
  Process process;
  process.add(JsonLinesHook({{"note", process.script.value("text", [] { return Tensor("K\xe4se"); })}},
                            {.path = "log", .every_n_steps = 1}));
  process.start();
  process.run();
  process.end();
  EXPECT_EQ(process.disk.contents("log"), "{\"step\":1,\"note\":\"K\xef\xbf\xbdse\"}\n");
  EXPECT_EQ(log.count("W JsonLinesHook: 'note' is not UTF-8 and is written as 'K\xef\xbf\xbdse'"), 1U);
  EXPECT_THROW(JsonLinesHook({}, {.path = "log", .metrics = {"K\xe4se"}}), InvalidArgumentError);
}

TEST(JsonLinesHook, WritesNanAndInfinityAsStrings) {
  Process process;
  process.add(JsonLinesHook({}, {.path = "log", .metrics = {"a", "b", "c"}}));
  process.start();
  process.services.publish("a", {1, std::numeric_limits<double>::quiet_NaN()});
  process.services.publish("b", {1, std::numeric_limits<double>::infinity()});
  process.services.publish("c", {1, -std::numeric_limits<double>::infinity()});
  process.run();
  process.end();
  EXPECT_EQ(process.disk.contents("log"), "{\"step\":1,\"a\":\"NaN\",\"b\":\"Infinity\",\"c\":\"-Infinity\"}\n");
}

TEST(JsonLinesHook, ContinuesAfterTheRestoredStep) {
  const LogLines quiet;
  Process process;
  process.disk.write_file("log", "{\"step\":1,\"a\":1}\n{\"step\":2}\n{\"step\":3,\"a\":3}\n{\"st");
  process.add(JsonLinesHook({}, {.path = "log", .metrics = {"a"}}));
  process.set_step(2);
  process.start();
  process.services.publish("a", {3, 4});
  process.run();
  process.end();
  EXPECT_EQ(process.disk.contents("log"), "{\"step\":1,\"a\":1}\n{\"step\":2}\n{\"step\":3,\"a\":4}\n");
}

}  // namespace
}  // namespace trainhook
