// SPDX-License-Identifier: Apache-2.0
/// @file
/// FeedFnHook: what runs are fed with.
#include <trainhook/hooks/feed_fn_hook.hpp>

#include <gtest/gtest.h>

#include <trainhook/monitored/monitored_session.hpp>
#include <trainhook/testing/scripted_session.hpp>

#include "training_double.hpp"

namespace trainhook {
namespace {

TEST(FeedFnHook, B063_FeedsWhatTheFunctionGives) {
  support::Process process;
  const Output x =
      process.graph.add({.type = "Placeholder", .name = "x", .outputs = {{DType::Float, Shape{}}}}).output();
  process.add(FeedFnHook([x] { return FeedDict{{x, Tensor(1.0F)}}; }));
  process.start();
  const Fetch fetch(x);
  Tensor result;
  process.session->run({.fetches = {&fetch, 1}}, {&result, 1});
  EXPECT_EQ(result.scalar<float>() + 1, 2.0F);
}

TEST(FeedFnHook, X23_CallsTheFunctionAgainIfTheRunIsRepeated) {
  support::LogLines log;
  support::Outside outside;
  testing::Script script;
  const Output x =
      script.graph().add({.type = "Placeholder", .name = "x", .outputs = {{DType::Float, Shape{}}}}).output();
  script.throw_at(1, UnavailableError("gone"));
  int calls = 0;
  MonitoredSession<testing::ScriptedSession> session(std::make_shared<testing::ScriptedSessionCreator>(script),
                                                     {.hooks = {FeedFnHook([&] {
                                                        return FeedDict{{x, Tensor(static_cast<float>(++calls))}};
                                                      })},
                                                      .file_system = &outside.disk,
                                                      .clock = &outside.clock});
  outside.clock.auto_advance(true);
  session.run(script.train());
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(script.runs, 2) << "the first attempt failed";
}

TEST(FeedFnHook, WantsAFunction) { EXPECT_THROW(FeedFnHook(nullptr), InvalidArgumentError); }

}  // namespace
}  // namespace trainhook
