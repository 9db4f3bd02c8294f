// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of kernels, assertions and values in the log; conditions_test.cpp has the branches.
#include <trainhook/compat/kernels.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <trainhook/core/log.hpp>
#include <trainhook/engine/graph_session.hpp>

namespace trainhook {
namespace {

TEST(ControlFlowKernels, AssertShowsWhatItIsGiven) {
  Graph graph;
  const auto in = [&](DType dtype) {
    return graph.add({.type = "Placeholder", .attrs = {{"dtype", dtype}}, .outputs = {{dtype, {}}}}).output();
  };
  const Output holds = in(DType::Bool);
  const Output text = in(DType::String);
  const Output x = in(DType::Float);
  const Operation check = graph.add(
      {.type = "Assert", .name = "check", .inputs = {holds, text, x}, .attrs = {{"summarize", std::int64_t{3}}}});
  GraphSession session(graph, {.kernels = {kernels::control_flow()}});
  const auto run = [&](bool value) {
    session.run(check, {{holds, Tensor(value)}, {text, Tensor("x is")}, {x, Tensor::of<float>({1, 2.5F, 3, 4})}});
  };
  EXPECT_NO_THROW(run(true));
  try {
    run(false);
    FAIL() << "no error";
  } catch (const InvalidArgumentError& error) {
    EXPECT_THAT(error.what(), ::testing::EndsWith("assertion failed: [x is] [1 2.5 3...]"));
  }
}

TEST(ControlFlowKernels, PrintPassesItsInputOnAndLogsTheFirstRuns) {
  Graph graph;
  const Output x =
      graph.add({.type = "Placeholder", .attrs = {{"dtype", DType::Int32}}, .outputs = {{DType::Int32, {}}}}).output();
  const Output y = graph
                       .add({.type = "Print",
                             .inputs = {x, x},
                             .attrs = {{"message", std::string("x = ")},
                                       {"first_n", std::int64_t{2}},
                                       {"summarize", std::int64_t{-1}}},
                             .outputs = {{DType::Int32, {}}}})
                       .output();
  GraphSession session(graph, {.kernels = {kernels::control_flow()}});
  std::vector<std::string> lines;
  const LogSink before = set_log_sink([&](LogLevel, std::string_view line) { lines.emplace_back(line); });
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(session.run(y, {{x, Tensor::of<std::int32_t>({1, i})}}).data<std::int32_t>()[1], i);
  set_log_sink(before);
  EXPECT_THAT(lines, ::testing::ElementsAre("x = [1 0]", "x = [1 1]"));
}

}  // namespace
}  // namespace trainhook
