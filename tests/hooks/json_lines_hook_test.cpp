// SPDX-License-Identifier: Apache-2.0
/// @file
/// JsonLinesHook: the text of its file.
#include <trainhook/hooks/json_lines_hook.hpp>

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
