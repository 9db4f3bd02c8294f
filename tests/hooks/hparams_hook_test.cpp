// SPDX-License-Identifier: Apache-2.0
/// @file
/// HParamsHook: the bytes that TensorBoard's HPARAMS tab reads.
#include <trainhook/hooks/hparams_hook.hpp>

#include <chrono>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/events/event_reader.hpp>

#include "training_double.hpp"

namespace trainhook {
namespace {

using support::Process;
using namespace std::string_view_literals;

/// All event files of a directory as they are on the disk.
std::string bytes_of(Process& process, const std::string& directory) {
  std::string bytes;
  for (const std::string& path : list_event_files(process.disk, directory)) bytes += process.disk.contents(path);
  return bytes;
}

/// The bytes that TensorBoard's own `hparams_pb` makes of the same.
TEST(HParamsHook, WritesTheHyperparametersAndTheSuccessfulEnd) {
  Process process;
  process.advance_clock(5 - process.clock.wall_seconds());
  process.add(HParamsHook(
      {.hparams = {{"b", true}, {"opt", "adam"}, {"lr", 0.1}, {"bs", 3}}, .output_dir = "run", .group = "x"}));
  process.start();
  process.writers.flush();
  const std::string start = bytes_of(process, "run");
  EXPECT_NE(start.find("_hparams_/session_start_info"), std::string::npos);
  EXPECT_NE(start.find("\n\7hparams\22H\32F\n\7\n\1b\22\2 \1\n\r\n\3opt\22\6\32\4adam\n\17\n\2lr\22\t\21"
                       "\232\231\231\231\231\231\271?\n\17\n\2bs\22\t\21\0\0\0\0\0\0\10@\"\1x)\0\0\0\0\0\0\24@"sv),
            std::string::npos);
  EXPECT_EQ(start.find("_hparams_/session_end_info"), std::string::npos);
  process.run();
  process.end();
  const std::string all = bytes_of(process, "run");
  EXPECT_NE(all.find("_hparams_/session_end_info"), std::string::npos);
  EXPECT_NE(all.find("\n\7hparams\22\r\"\13\10\1\21\0\0\0\0\0\0\24@"sv), std::string::npos);
}

TEST(HParamsHook, RefusesOptionsThatMakeNoSense) {
  EXPECT_THROW(HParamsHook({.hparams = {{"a", 1}}}), InvalidArgumentError);
  EXPECT_THROW(HParamsHook({.output_dir = "run"}), InvalidArgumentError);
  EXPECT_THROW(HParamsHook({.hparams = {{"", 1}}, .output_dir = "run"}), InvalidArgumentError);
  EXPECT_THROW(HParamsHook({.hparams = {{"K\xe4se", 1}}, .output_dir = "run"}), InvalidArgumentError);
  EXPECT_THROW(HParamsHook({.hparams = {{"a", "K\xe4se"}}, .output_dir = "run"}), InvalidArgumentError);
  EXPECT_THROW(HParamsHook({.hparams = {{"a", 1}}, .output_dir = "run", .group = "\xe4"}), InvalidArgumentError);
  EXPECT_THROW(HParamsHook({.hparams = {{"a", 1}, {"a", 2}}, .output_dir = "run"}), InvalidArgumentError);
}

}  // namespace
}  // namespace trainhook
