// SPDX-License-Identifier: Apache-2.0
/// @file
/// CsvLoggerHook: the text of its file.
#include <trainhook/hooks/csv_logger_hook.hpp>

#include <limits>
#include <string>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>

#include "training_double.hpp"

namespace trainhook {
namespace {

using support::LogLines;
using support::Outside;
using support::Process;
using support::TrainingDouble;

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

}  // namespace
}  // namespace trainhook
