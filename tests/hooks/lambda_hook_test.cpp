// SPDX-License-Identifier: Apache-2.0
/// @file
/// LambdaHook: each of its functions is called in its callback.
#include <trainhook/hooks/lambda_hook.hpp>

#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>

#include "training_double.hpp"

namespace trainhook {
namespace {

using support::LogLines;
using support::Process;
using ::testing::ElementsAre;

TEST(LambdaHook, CallsEachFunctionInItsCallback) {
  std::vector<std::string> trace;
  Process process;
  const Output step = process.script.global_step.read;
  process.add(LambdaHook({.begin = [&](Graph&) { trace.emplace_back("begin"); },
                          .after_create_session = [&](SessionRef, Coordinator&) { trace.emplace_back("created"); },
                          .before_run = [&](SessionRunContext& context) -> SessionRunArgs {
                            trace.push_back(fmt::format("before {}", context.global_step()));
                            return {step};
                          },
                          .after_run =
                              [&](SessionRunContext&, const SessionRunValues& values) {
                                trace.push_back(fmt::format("after {}", values.results.size()));
                              },
                          .end = [&](SessionRef) { trace.emplace_back("end"); }}));
  process.start();
  process.run();
  process.end();
  EXPECT_THAT(trace, ElementsAre("begin", "created", "before 0", "after 1", "end"));
}

TEST(LambdaHook, IsToldOfFailures) {
  std::vector<std::string> trace;
  Process process;
  const Operation broken = process.script.operation("broken", [] { throw std::runtime_error("no"); });
  auto& hook = process.add(LambdaHook(
      {.on_run_failed = [&](SessionRunContext&, const std::exception_ptr& error) { trace.push_back(describe(error)); },
       .abort = [&](const std::exception_ptr&) { throw std::runtime_error("abort"); }}));
  process.start();
  EXPECT_THROW(process.run(broken), std::runtime_error);
  EXPECT_THAT(trace, ElementsAre("no"));
  LogLines log;
  hook.abort(nullptr);
  EXPECT_EQ(log.count("E LambdaHook: abort threw: abort"), 1U);
}

TEST(LambdaHook, HasPhaseNameStateAndVeto) {
  std::int64_t count = 3;
  LambdaHook hook({.veto_save = [] { return std::optional<std::string>("not now"); },
                   .save_state =
                       [&] {
                         StateValues state;
                         state.set("count", Tensor(count));
                         return state;
                       },
                   .load_state = [&](const StateValues& state) { count = state.at("count").scalar<std::int64_t>(); },
                   .phase = HookPhase::Check,
                   .writes_variables = true,
                   .name = "counter"});
  const StateValues saved = hook.save_state();
  count = 0;
  hook.load_state(saved);
  EXPECT_EQ(count, 3);
  EXPECT_EQ(hook.phase(), HookPhase::Check);
  EXPECT_TRUE(hook.writes_variables());
  EXPECT_EQ(hook.name(), "counter");
  EXPECT_EQ(hook.veto_save(), "not now");
}

TEST(LambdaHook, WithoutAFunctionACallbackDoesNothing) {
  Process process;
  process.add(LambdaHook({.end = [](SessionRef) {}}));
  process.start();
  process.run();
  EXPECT_TRUE(process.hooks()[0]->save_state().empty());
  EXPECT_EQ(process.hooks()[0]->veto_save(), std::nullopt);
  process.end();
}

TEST(LambdaHook, RefusesNoFunctionAndHalfAState) {
  EXPECT_THROW(LambdaHook({.name = "idle"}), InvalidArgumentError);
  EXPECT_THROW(LambdaHook({.save_state = [] { return StateValues(); }}), InvalidArgumentError);
}

}  // namespace
}  // namespace trainhook
