// SPDX-License-Identifier: Apache-2.0
/// @file
/// ScriptedSession: what a script makes it do.
#include <trainhook/testing/scripted_session.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/graph/global_step.hpp>

namespace trainhook::testing {
namespace {

static_assert(SessionLike<ScriptedSession>);

TEST(ScriptedSession, CountsStepsOfTheTrainOperation) {
  Script script;
  ScriptedSession session(script);
  session.run(script.train());
  script.step_by = 5;
  session.run(script.train());
  session.run([] {});
  (void)session.run("global_step/read");
  EXPECT_EQ(session.variable("global_step"), Tensor(std::int64_t{11}));
  EXPECT_EQ(script.runs, 3);
  EXPECT_EQ(script.executes, 4);
}

TEST(ScriptedSession, GivesTheStepBeforeTheRunThatAdvancesIt) {
  Script script;
  ScriptedSession session(script);
  const auto [step, nothing] = session.run({script.global_step, script.train()});
  EXPECT_EQ(step, Tensor(std::int64_t{0}));
  EXPECT_FALSE(nothing.has_value());
}

TEST(ScriptedSession, ThrowsWhatTheScriptSaysBeforeItDoesAnything) {
  Script script;
  script.throw_at(2, AbortedError("lost"));
  ScriptedSession session(script);
  session.run(script.train());
  EXPECT_THROW(session.run(script.train()), AbortedError);
  EXPECT_EQ(session.variable("global_step"), Tensor(std::int64_t{1}));
  session.run(script.train());
  EXPECT_EQ(session.variable("global_step"), Tensor(std::int64_t{2}));
}

TEST(ScriptedSession, GivesValuesAndTakesFeedsInPlaceOfThem) {
  Script script;
  float loss = 1;
  const Output value = script.value("loss", [&] { return loss; });
  ScriptedSession session(script);
  loss = 2;
  EXPECT_EQ(session.run(value), Tensor(2.0F));
  EXPECT_EQ(session.run(value, {{value, 7.0F}}), Tensor(7.0F));
}

TEST(ScriptedSession, WritesDownEveryRequest) {
  Script script;
  const Output loss = script.value("loss", [] { return 1.0F; });
  ScriptedSession session(script);
  session.run({loss, script.train()}, {{loss, 2.0F}});
  session.run([] {});
  EXPECT_EQ(script.take_requests(), "run loss:0, train <- loss:0\nrun step\n");
  EXPECT_EQ(script.take_requests(), "");
}

TEST(ScriptedSession, KeepsVariablesThatASaverCanSaveAndRestore) {
  Script script;
  script.variable("weights", Tensor::of<float>({1, 2}));
  ScriptedSession session(script);
  std::vector<std::string> names;
  for (const StateSpec& spec : session.state()) names.push_back(spec.name);
  EXPECT_EQ(names, (std::vector<std::string>{"global_step", "weights"}));
  const std::vector<NamedTensor> good{{"global_step", Tensor(std::int64_t{4})}, {"weights", Tensor::of<float>({3, 4})}};
  session.load(good);
  EXPECT_EQ(session.run("weights/read"), Tensor::of<float>({3, 4}));
  const std::vector<NamedTensor> bad{{"global_step", Tensor(std::int64_t{9})}, {"weights", Tensor(1.0F)}};
  EXPECT_THROW(session.load(bad), InvalidArgumentError);
  EXPECT_EQ(session.variable("global_step"), Tensor(std::int64_t{4})) << "all or nothing";
  EXPECT_THROW((void)session.snapshot(std::vector<std::string>{"bias"}), NotFoundError);
}

TEST(ScriptedSession, DoesWhatAnOperationSays) {
  Script script;
  ScriptedSession session(script);
  script.variable("weights", Tensor::of<float>({0, 0}));
  const Operation train = script.operation("my_train", [&] {
    for (float& weight : session.variable("weights").mutable_data<float>()) weight += 1;
  });
  session.run(train);
  session.run(train);
  EXPECT_EQ(session.variable("weights"), Tensor::of<float>({2, 2})) << "a variable that came later than the session";
  EXPECT_EQ(session.variable("global_step"), Tensor(std::int64_t{0}));
}

TEST(ScriptedSession, ARunInsideARunLeavesTheOuterOneAlone) {
  Script script;
  ScriptedSession session(script);
  const Output x = script.value("x", [] { return 1.0F; });
  const Output nested = script.value("nested", [&] { return 100 + session.run(x, {{x, 5.0F}}).scalar<float>(); });
  const Operation training = script.operation("training", [&] { session.run(script.train()); });
  const auto results = session.run({x, nested, training, x}, {{x, 2.0F}});
  EXPECT_EQ(results[0], Tensor(2.0F));
  EXPECT_EQ(results[1], Tensor(105.0F));
  EXPECT_EQ(results[3], Tensor(2.0F));
  EXPECT_EQ(session.variable("global_step"), Tensor(std::int64_t{1}));
}

TEST(ScriptedSession, ThrowsANewErrorEachTime) {
  Script script;
  script.throw_at(1, DataLossError("torn"));
  const auto thrown = [&] {
    script.runs = 0;
    ScriptedSession session(script);
    try {
      session.run(script.train());
    } catch (...) { return std::current_exception(); }
    return std::exception_ptr();
  };
  const std::exception_ptr first = thrown();
  EXPECT_NE(first, nullptr);
  EXPECT_NE(first, thrown());
}

TEST(ScriptedSession, KnowsWhatIsStateOfTheInput) {
  Script script;
  script.input_state("numbers-state", Tensor(std::int64_t{7}));
  ScriptedSession session(script);
  const std::vector<StateSpec> state = session.state();
  ASSERT_EQ(state.size(), 2U);
  EXPECT_EQ(state[0].kind, StateKind::Variable);
  EXPECT_EQ(state[1].name, "numbers-state");
  EXPECT_EQ(state[1].kind, StateKind::Input);
}

TEST(ScriptedSession, CallsBackBeforeEachRun) {
  Script script;
  const Output loss = script.value("loss", [] { return 1.0F; });
  ScriptedSession session(script);
  script.before_each_run = [&] {
    if (script.executes == 2) throw UnavailableError("gone");
  };
  session.run(loss);
  EXPECT_THROW(session.run(loss), UnavailableError);
  session.run(loss);
}

TEST(ScriptedSession, WritesNothingDownIfToldNotTo) {
  Script script;
  script.keeps_requests = false;
  ScriptedSession session(script);
  session.run(script.train());
  EXPECT_EQ(script.take_requests(), "");
}

TEST(ScriptedSession, TheStepMayBeInAScope) {
  Script script("foo");
  ScriptedSession session(script);
  session.run(script.train());
  EXPECT_EQ(get_global_step(script.graph())->name(), "foo/step");
  EXPECT_EQ(session.variable("foo/step"), Tensor(std::int64_t{1}));
}

TEST(ScriptedSession, BeginsEachSessionWithTheInitialValues) {
  Script script;
  {
    ScriptedSession first(script);
    first.run(script.train());
    first.close();
    first.close();
    EXPECT_THROW(first.run(script.train()), FailedPreconditionError);
  }
  ScriptedSessionCreator creator(script);
  const OwnedSession second = creator.create_session();
  EXPECT_EQ(second.session.as<ScriptedSession>().variable("global_step"), Tensor(std::int64_t{0}));
  EXPECT_EQ(script.sessions, 2);
  EXPECT_EQ(script.closes, 1);
  EXPECT_TRUE(script.graph().is_finalized());
}

}  // namespace
}  // namespace trainhook::testing
