// SPDX-License-Identifier: Apache-2.0
/// @file
/// MonitoredSession over graphs with variables: initialization, restoring, recovery, step functions.
#include <trainhook/monitored/monitored_session.hpp>

#include <concepts>
#include <cstdint>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <shared_session_double.hpp>
#include <small_engine.hpp>
#include <trainhook/checkpoint/saver.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/graph/global_step.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/ops/control_flow.hpp>
#include <trainhook/graph/ops/state.hpp>
#include <trainhook/hooks/checkpoint_saver_hook.hpp>
#include <trainhook/hooks/final_ops_hook.hpp>
#include <trainhook/hooks/logging_tensor_hook.hpp>
#include <trainhook/hooks/scaffold.hpp>
#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/monitored/chief_session_creator.hpp>
#include <trainhook/compat/singular_monitored_session.hpp>
#include <trainhook/testing/manual_clock.hpp>
#include <trainhook/testing/memory_file_system.hpp>

namespace trainhook {
namespace {

using support::SmallEngine;
using Session = MonitoredSession<SmallEngine>;
using Singular = SingularMonitoredSession<SmallEngine>;

/// Throws in its n-th before_run, once.
template <class E>
class RaiseOnce final : public SessionRunHook {
 public:
  RaiseOnce(int nth, E error) : left_(nth), error_(std::move(error)) {}
  SessionRunArgs before_run(SessionRunContext&) override {
    if (--left_ == 0) throw error_;
    return {};
  }
  [[nodiscard]] bool has_raised() const { return left_ <= 0; }

 private:
  int left_;
  E error_;
};

class MonitoredSessionGraphTest : public ::testing::Test {
 protected:
  ~MonitoredSessionGraphTest() override { set_log_sink(previous_sink); }

  std::shared_ptr<SessionCreator> chief(ChiefSessionCreatorOptions options = {}) {
    options.file_system = &disk;
    options.clock = &clock;
    return chief_session_creator<SmallEngine>(graph, std::move(options));
  }
  MonitoredSessionOptions options(HookList hooks) {
    return {.hooks = std::move(hooks), .file_system = &disk, .clock = &clock};
  }
  SingularMonitoredSessionOptions singular(HookList hooks) {
    return {.hooks = std::move(hooks), .file_system = &disk, .clock = &clock};
  }
  template <class S>
  std::int64_t now(S& session) {
    return session.run(step.read).template scalar<std::int64_t>();
  }
  template <class S>
  std::int64_t advance(S& session) {
    return session.run(inc).template scalar<std::int64_t>();
  }

  testing::ManualClock clock;
  testing::MemoryFileSystem disk;
  Graph graph;
  Variable step = create_global_step(graph);
  Output inc = increment(step);
  std::string log;
  LogSink previous_sink = set_log_sink([this](LogLevel, std::string_view line) { log.append(line).append("\n"); });
};

TEST_F(MonitoredSessionGraphTest, M059_InitializesByDefault) {
  Session session(chief(), options({}));
  EXPECT_EQ(now(session), 0);
}

TEST_F(MonitoredSessionGraphTest, AGraphAloneHasTheDefaultCreator) {
  Session session(graph, options({StopAtStepHook({.last_step = 2})}));
  run_until_stop(session, inc.operation());
  Session again(graph, options({}));
  EXPECT_EQ(now(again), 0);  // a chief without a directory restores nothing
}

TEST_F(MonitoredSessionGraphTest, SaversTakeAMonitoredSession) {
  Saver saver({.file_system = &disk, .clock = &clock});
  Session session(graph, options({}));
  advance(session);
  const std::string prefix = saver.save(session, {"run/model.ckpt", 1});
  advance(session);
  saver.restore(session, prefix);
  EXPECT_EQ(now(session), 1);
}

/// Asks for its tensors by tag and by name, and feeds one by name.
class AsksByName final : public SessionRunHook {
 public:
  SessionRunArgs before_run(SessionRunContext& context) override {
    user_fed = context.original_args().feed_dict.size();
    return {.feed_dict = {{"to_feed:0", 7.0F}}, .named_fetches = {{"fed", "fed:0"}, {"step", now}}};
  }
  void after_run(SessionRunContext&, const SessionRunValues& values) override {
    fed = values.results["fed"].scalar<float>();
    step = values.results["step"].scalar<std::int64_t>();
    results = values.results.size();
  }

  Output now;
  std::size_t user_fed = 0, results = 0;
  float fed = 0;
  std::int64_t step = -1;
};

TEST_F(MonitoredSessionGraphTest, AHookMayAskByTagAndByNameAndFeedByName) {
  const Output to_feed = constant(graph, Tensor(1.0F), "to_feed");
  const Output to_feed_too = constant(graph, Tensor(1.0F), "to_feed_too");
  graph.add({.type = "Identity", .name = "fed", .inputs = {to_feed}, .outputs = {{DType::Float, Shape{}}}});
  const auto hook = std::make_shared<AsksByName>();
  hook->now = step.read;
  Session session(graph, options({hook}));
  const NamedResults results = session.run({{"mine", to_feed_too}, {"step", inc}}, {{"to_feed_too", 3.0F}});
  EXPECT_EQ(results.at("mine").scalar<float>(), 3);
  EXPECT_EQ(hook->user_fed, 1U);
  EXPECT_EQ(hook->fed, 7);
  EXPECT_EQ(hook->step, 0);
  EXPECT_EQ(hook->results, 2U);
}

TEST_F(MonitoredSessionGraphTest, AHookThatAsksForAWrongNameIsNamed) {
  const auto hook = std::make_shared<AsksByName>();
  hook->now = step.read;
  Session session(graph, options({hook}));
  EXPECT_THROW(advance(session), NotFoundError);
  EXPECT_NE(log.find("AsksByName"), std::string::npos) << log;
}

TEST_F(MonitoredSessionGraphTest, WhatIsLookedAtAtTheEndIsNotInTheLastCheckpoint) {
  std::int64_t trained = 0;
  for (const detail::HookEntry& looks : HookList{FinalOpsHook(inc), LoggingTensorHook(inc, {.at_end = true})}) {
    {
      Session session(chief({.checkpoint_dir = "run"}),
                      options({looks, CheckpointSaverHook({.checkpoint_dir = "run", .save_steps = 100})}));
      for (int i = 0; i < 3; ++i) trained = advance(session);
      session.close();
    }
    Session resumed(chief({.checkpoint_dir = "run"}), options({}));
    EXPECT_EQ(now(resumed), trained);
  }
  EXPECT_EQ(trained, 6);
}

TEST_F(MonitoredSessionGraphTest, M060_StopsAtTheLastStepAndContinuesFromAFileThatInitFnRestores) {
  Saver saver({.file_system = &disk, .clock = &clock});
  std::string prefix;
  {
    Session session(chief(), options({StopAtStepHook({.last_step = 3})}));
    EXPECT_EQ(now(session), 0);
    EXPECT_FALSE(session.should_stop());
    for (const std::int64_t expected : {1, 2, 3}) {
      EXPECT_FALSE(session.should_stop());
      EXPECT_EQ(advance(session), expected);
    }
    EXPECT_TRUE(session.should_stop());
    prefix = saver.save(session.raw_session(), {.save_path = "run/step-3"});
  }
  const auto scaffold = std::make_shared<Scaffold>(
      ScaffoldOptions{.init_fn = [&](const Scaffold&, SessionRef session) { saver.restore(session, prefix); }});
  Session session(chief({.scaffold = scaffold}), options({StopAtStepHook({.last_step = 5})}));
  EXPECT_EQ(now(session), 3);
  EXPECT_FALSE(session.should_stop());
  EXPECT_EQ(advance(session), 4);
  EXPECT_FALSE(session.should_stop());
  EXPECT_EQ(advance(session), 5);
  EXPECT_TRUE(session.should_stop());
}

TEST_F(MonitoredSessionGraphTest, M062_ContinuesFromADirectoryOrAFile) {
  {
    const auto scaffold = std::make_shared<Scaffold>();
    Session session(chief({.scaffold = scaffold, .checkpoint_dir = "run"}),
                    options({CheckpointSaverHook({.checkpoint_dir = "run", .save_steps = 1, .scaffold = scaffold})}));
    EXPECT_EQ(advance(session), 1);
    EXPECT_EQ(advance(session), 2);
    session.close();
  }
  Session from_directory(chief({.checkpoint_dir = "run"}), options({}));
  EXPECT_EQ(now(from_directory), 2);
  Session from_file(chief({.checkpoint_filename_with_path = "run/model.ckpt-2"}), options({}));
  EXPECT_EQ(now(from_file), 2);
}

TEST_F(MonitoredSessionGraphTest, M063_InitializesAgainIfThatWasAborted) {
  int calls = 0;
  const auto scaffold = std::make_shared<Scaffold>(ScaffoldOptions{.init_fn = [&](const Scaffold&, SessionRef) {
    if (++calls == 1) throw AbortedError("lost while it was made");
  }});
  Session session(chief({.scaffold = scaffold}), options({}));
  EXPECT_EQ(calls, 2);
  EXPECT_FALSE(session.should_stop());
  EXPECT_EQ(now(session), 0);
}

template <class E>
void starts_again_from_the_beginning(MonitoredSessionGraphTest&, Session& session, const Variable& step, Output inc) {
  EXPECT_EQ(session.run(step.read).scalar<std::int64_t>(), 0);
  EXPECT_EQ(session.run(inc).scalar<std::int64_t>(), 1);
  EXPECT_EQ(session.run(inc).scalar<std::int64_t>(), 2);
  EXPECT_EQ(session.run(inc).scalar<std::int64_t>(), 1);  // a new session without a checkpoint
  EXPECT_FALSE(session.should_stop());
  EXPECT_EQ(session.run(inc).scalar<std::int64_t>(), 2);
}

TEST_F(MonitoredSessionGraphTest, M064_X21_S43_AnAbortedSessionWithoutCheckpointStartsAgainWithAWarning) {
  Session session(chief(), options({RaiseOnce(4, AbortedError("lost"))}));
  starts_again_from_the_beginning<AbortedError>(*this, session, step, inc);
  EXPECT_NE(log.find("training starts again from initial values"), std::string::npos);
}

TEST_F(MonitoredSessionGraphTest, M065_SoDoesAnUnavailableOne) {
  Session session(chief(), options({RaiseOnce(4, UnavailableError("lost"))}));
  starts_again_from_the_beginning<UnavailableError>(*this, session, step, inc);
}

TEST_F(MonitoredSessionGraphTest, X21_ALossGoesBackToTheLastCheckpointWithoutInitializing) {
  int initialized = 0;
  const auto scaffold =
      std::make_shared<Scaffold>(ScaffoldOptions{.init_fn = [&](const Scaffold&, SessionRef) { ++initialized; }});
  Session session(chief({.scaffold = scaffold, .checkpoint_dir = "run"}),
                  options({CheckpointSaverHook({.checkpoint_dir = "run", .save_steps = 2, .scaffold = scaffold}),
                           RaiseOnce(4, AbortedError("lost"))}));
  for (const std::int64_t expected : {1, 2, 3, 3})
    EXPECT_EQ(advance(session), expected);  // 2 is the newest, so the fourth gives 3 again
  EXPECT_EQ(initialized, 1);
}

TEST_F(MonitoredSessionGraphTest, X07_ALossInAfterRunWithASaverForEachStepCostsNothing) {
  class RaiseAfter final : public SessionRunHook {
   public:
    void after_run(SessionRunContext&, const SessionRunValues&) override {
      if (++runs_ == 3) throw AbortedError("lost after the step");
    }

   private:
    int runs_ = 0;
  };
  const auto scaffold = std::make_shared<Scaffold>();
  Session session(
      chief({.scaffold = scaffold, .checkpoint_dir = "run"}),
      options({RaiseAfter(), CheckpointSaverHook({.checkpoint_dir = "run", .save_steps = 1, .scaffold = scaffold})}));
  for (const std::int64_t expected : {1, 2, 3}) EXPECT_EQ(advance(session), expected);
  EXPECT_EQ(now(session), 3);
}

template <class S>
void ends_cleanly_at_the_end_of_input(S& session, const Variable& step) {
  int begun = 0;
  int done = 0;
  run_until_stop(session, [&] {
    ++begun;
    EXPECT_EQ(session.run(step.read).template scalar<std::int64_t>(), 0);
    ++done;
  });
  EXPECT_EQ(begun, 2);
  EXPECT_EQ(done, 1);
  EXPECT_TRUE(session.should_stop());
}

TEST_F(MonitoredSessionGraphTest, M067_EndsCleanlyAtTheEndOfInput) {
  Session session(chief(), options({RaiseOnce(2, OutOfRangeError("End of sequence"))}));
  ends_cleanly_at_the_end_of_input(session, step);
}

TEST_F(MonitoredSessionGraphTest, M097_EndsCleanlyAtTheEndOfInputWithoutRecovery) {
  Singular session(graph, singular({RaiseOnce(2, OutOfRangeError("End of sequence"))}));
  ends_cleanly_at_the_end_of_input(session, step);
}

TEST_F(MonitoredSessionGraphTest, M069_AnOrdinaryErrorGoesThroughRunAndEndsTheLoop) {
  const auto raise = std::make_shared<RaiseOnce<std::runtime_error>>(4, std::runtime_error("regular"));
  Session session(chief(), options({raise}));
  EXPECT_THROW(run_until_stop(session, [&] { advance(session); }), std::runtime_error);
  EXPECT_TRUE(raise->has_raised());
  EXPECT_TRUE(session.should_stop());
}

TEST_F(MonitoredSessionGraphTest, M072_EndsCleanlyIfNothingIsThrown) {
  Session session(chief(), options({StopAtStepHook({.last_step = 2})}));
  std::vector<std::int64_t> steps;
  run_until_stop(session, [&] { steps.push_back(advance(session)); });
  EXPECT_EQ(steps, (std::vector<std::int64_t>{1, 2}));
  EXPECT_TRUE(session.should_stop());
  EXPECT_THROW(now(session), FailedPreconditionError);  // closed
}

TEST_F(MonitoredSessionGraphTest, M074_ShowsItsGraph) {
  Session session(chief(), options({}));
  EXPECT_EQ(&session.graph(), &graph);
}

TEST_F(MonitoredSessionGraphTest, M075_TheGraphIsFinalWhileItLives) {
  {
    Session session(chief(), options({}));
    EXPECT_TRUE(graph.is_finalized());
    EXPECT_THROW(constant(graph, Tensor(1.0F)), FailedPreconditionError);
  }
  EXPECT_FALSE(graph.is_finalized());
}

// Step functions.

struct Fed {
  explicit Fed(Graph& graph) : in(placeholder(graph, DType::Float, Shape{}, "in")), out(identity(in, "out")) {}
  Output in;
  Output out;
};

TEST_F(MonitoredSessionGraphTest, M080_AStepFunctionRunsWithHooks) {
  const Fed fed(graph);
  Session session(chief(), options({}));
  const float result = session.run_step_fn([&](StepContext<SmallEngine>& context) {
    return context.run_with_hooks(fed.out, {{fed.in, 3.2F}}).scalar<float>();
  });
  EXPECT_EQ(result, 3.2F);
}

TEST_F(MonitoredSessionGraphTest, RunWithHooksTakesEveryFormOfRun) {
  const Fed fed(graph);
  Session session(chief(), options({}));
  session.run_step_fn([&](StepContext<SmallEngine>& context) {
    context.run_with_hooks(inc.operation());
    EXPECT_EQ(context.run_with_hooks("global_step").scalar<std::int64_t>(), 1);
    EXPECT_EQ(context.run_with_hooks("out", {{fed.in, 2.0F}}).scalar<float>(), 2);
    const auto [value, now] = context.run_with_hooks().run({fed.out, step.read}, {{fed.in, 2.0F}});
    EXPECT_EQ(value.scalar<float>(), 2);
    EXPECT_EQ(now.scalar<std::int64_t>(), 1);
    const auto [named, step_by_name] = context.run_with_hooks().run({"out", "global_step"}, {{fed.in, 4.0F}});
    EXPECT_EQ(named.scalar<float>(), 4);
    EXPECT_EQ(step_by_name.scalar<std::int64_t>(), 1);
    EXPECT_EQ(context.run_with_hooks(std::vector<Fetch>{step.read}).size(), 1U);
    RunMetadata metadata;
    EXPECT_EQ(context.run_with_hooks(fed.out, {{fed.in, 5.0F}}, nullptr, &metadata).scalar<float>(), 5);
  });
}

TEST_F(MonitoredSessionGraphTest, M084_GivesWhatTheStepFunctionReturns) {
  Session session(chief(), options({}));
  EXPECT_EQ(session.run_step_fn([](StepContext<SmallEngine>&) { return std::string("a type of its own"); }),
            "a type of its own");
}

/// Whether `run_step_fn` takes it.
template <class StepFunction>
concept StepFunctionOf = requires(Session& session, StepFunction function) { session.run_step_fn(function); };

/// An object with step functions.
struct Trainer {
  float step(StepContext<SmallEngine>& context) const {
    return context.run_with_hooks(fed->out, {{fed->in, 3.2F}}).scalar<float>();
  }
  const Fed* fed;
};

TEST_F(MonitoredSessionGraphTest, M085_M087_S32_AStepFunctionTakesItsContextAndNothingElse) {
  static_assert(StepFunctionOf<void (*)(StepContext<SmallEngine>&)>);
  static_assert(!StepFunctionOf<void (*)(StepContext<SmallEngine>&, int)>);
  static_assert(!StepFunctionOf<void (*)()>);
  static_assert(!StepFunctionOf<void (*)(int)>);
  static_assert(!StepFunctionOf<float (Trainer::*)(StepContext<SmallEngine>&, int)>);
}

TEST_F(MonitoredSessionGraphTest, M086_AStepFunctionMayBelongToAnObject) {
  const Fed fed(graph);
  const Trainer trainer{&fed};
  Session session(chief(), options({}));
  EXPECT_EQ(session.run_step_fn([&](auto& context) { return trainer.step(context); }), 3.2F);
}

/// Fetches `state + 0.7`; after the run it wants to see 1.5 and adds 1.1 by a run without hooks.
class Adding final : public SessionRunHook {
 public:
  Adding(Variable state, Output wanted, Output later) : state_(state), wanted_(wanted), later_(later) {}
  SessionRunArgs before_run(SessionRunContext&) override { return {wanted_}; }
  void after_run(SessionRunContext& context, const SessionRunValues&) override {
    ++calls;
    EXPECT_NEAR(context.session().run(state_.read).scalar<float>(), 1.5F, 1e-6);
    EXPECT_NEAR(context.session().run(later_).scalar<float>(), 2.6F, 1e-6);
  }
  int calls = 0;

 private:
  Variable state_;
  Output wanted_;
  Output later_;
};

struct Additions {
  explicit Additions(Graph& graph) {
    state = make_variable("state", constant(graph, Tensor(0.0F), "state/initial"));
    first = assign_add(state, constant(graph, Tensor(0.3F)));
    by_hook = assign_add(state, constant(graph, Tensor(0.7F)));
    const Graph::Scope after = graph.control_dependencies({by_hook.operation()});
    by_user = assign_add(state, constant(graph, Tensor(0.5F)));
  }
  Variable state;
  Output first, by_hook, by_user;
};

template <class S>
void step_function_and_hooks_see_one_another(S& session, const Additions& add) {
  const float result = session.run_step_fn([&](StepContext<SmallEngine>& context) {
    EXPECT_NEAR(context.session().run(add.first).scalar<float>(), 0.3F, 1e-6);
    return context.run_with_hooks(add.by_user).scalar<float>();
  });
  EXPECT_NEAR(result, 1.5F, 1e-6);
}

TEST_F(MonitoredSessionGraphTest, M088_RawRunsAndHooksOfAStepFunctionSeeOneState) {
  const Additions add(graph);
  const auto hook =
      std::make_shared<Adding>(add.state, add.by_hook, assign_add(add.state, constant(graph, Tensor(1.1F))));
  Session session(chief(), options({hook}));
  step_function_and_hooks_see_one_another(session, add);
  EXPECT_EQ(hook->calls, 1);
}

TEST_F(MonitoredSessionGraphTest, M089_SoTheyDoWithoutRecovery) {
  const Additions add(graph);
  const auto hook =
      std::make_shared<Adding>(add.state, add.by_hook, assign_add(add.state, constant(graph, Tensor(1.1F))));
  Singular session(graph, singular({hook}));
  step_function_and_hooks_see_one_another(session, add);
  EXPECT_EQ(hook->calls, 1);
}

TEST_F(MonitoredSessionGraphTest, M091_ALossInAStepFunctionStartsItAgain) {
  Session session(chief(), options({}));
  int attempts = 0;
  EXPECT_EQ(session.run_step_fn([&](StepContext<SmallEngine>&) {
    if (++attempts == 1) throw AbortedError("lost");
    return 3.2F;
  }),
            3.2F);
  EXPECT_EQ(attempts, 2);
}

TEST_F(MonitoredSessionGraphTest, M093_WithoutRecoveryItLeavesRunStepFn) {
  Singular session(graph, singular({}));
  int attempts = 0;
  EXPECT_THROW(session.run_step_fn([&](StepContext<SmallEngine>&) {
    ++attempts;
    throw AbortedError("lost");
  }),
               AbortedError);
  EXPECT_EQ(attempts, 1);
  EXPECT_FALSE(session.should_stop());
}

TEST_F(MonitoredSessionGraphTest, M094_ALossInBeforeRunOfAStepFunctionStartsItAgain) {
  const Fed fed(graph);
  SmallEngine kept(graph);  // one engine for all sessions, whose state survives
  const Variable state = make_variable("state", constant(graph, Tensor(0.0F), "state/initial"));
  const Output add_some = assign_add(state, constant(graph, Tensor(0.31F)));
  const Output watched = constant(graph, Tensor(3.2F), "watched");
  kept.run(state.initializer);
  kept.run(step.initializer);
  struct Keeping final : SessionCreator {
    explicit Keeping(SmallEngine& engine) : session(&engine) {}
    Graph& graph() override { return session->graph(); }
    OwnedSession create_session() override { return {.owner = {}, .session = *session, .shared = share}; }
    SmallEngine* session;
    std::shared_ptr<support::SharedSessionDouble> share = std::make_shared<support::SharedSessionDouble>();
  };
  struct Watching final : SessionRunHook {
    explicit Watching(Output output) : watched(output) {}
    SessionRunArgs before_run(SessionRunContext&) override {
      if (!std::exchange(raised, true)) throw AbortedError("lost");
      return {watched};
    }
    void after_run(SessionRunContext&, const SessionRunValues& values) override {
      seen = values.results[0].scalar<float>();
    }
    Output watched;
    bool raised = false;
    float seen = 0;
  };
  const auto hook = std::make_shared<Watching>(watched);
  Session session(std::make_shared<Keeping>(kept), options({hook}));
  int attempts = 0;
  EXPECT_EQ(session.run_step_fn([&](StepContext<SmallEngine>& context) {
    ++attempts;
    context.session().run(add_some);
    return context.run_with_hooks(fed.out, {{fed.in, 1.3F}}).scalar<float>();
  }),
            1.3F);
  EXPECT_EQ(attempts, 2);
  EXPECT_NEAR(kept.run(state.read).scalar<float>(), 0.62F, 1e-6);
  EXPECT_EQ(hook->seen, 3.2F);
}

}  // namespace
}  // namespace trainhook
