// SPDX-License-Identifier: Apache-2.0
/// @file
/// SessionLifecycle: what counts as a loss, how often a session is recreated, and what is run again.
#include <trainhook/monitored/session_lifecycle.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <small_engine.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/events/file_writer_cache.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/ops/control_flow.hpp>
#include <trainhook/hooks/lambda_hook.hpp>
#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/monitored/monitored_session.hpp>
#include <trainhook/session/hook_services.hpp>
#include <trainhook/testing/manual_clock.hpp>
#include <trainhook/testing/memory_file_system.hpp>
#include <trainhook/testing/scripted_session.hpp>

namespace trainhook {
namespace {

using support::SmallEngine;
using Session = MonitoredSession<SmallEngine>;

/// Does its work until the run whose number it was given: that one loses the session.
class Aborting final : public SessionRunHook {
 public:
  SessionRunArgs before_run(SessionRunContext&) override {
    if (runs_left && --*runs_left == 0) throw AbortedError("the session is over");
    return {};
  }
  std::optional<int> runs_left;
};

/// Hands out sessions of one graph as long as there are some left; each life loses its session at the run it was given.
class LimitedCreator final : public SessionCreator {
 public:
  LimitedCreator(Graph& graph, std::deque<int> lengths, std::shared_ptr<Aborting> aborting)
      : lives(std::move(lengths)), graph_(&graph), aborting_(std::move(aborting)) {}
  Graph& graph() override { return *graph_; }
  OwnedSession create_session() override {
    if (lives.empty()) throw NotFoundError("no session is left");
    aborting_->runs_left = lives.front();
    lives.pop_front();
    return OwnedSession::make<SmallEngine>(*graph_);
  }
  std::deque<int> lives;

 private:
  Graph* graph_;
  std::shared_ptr<Aborting> aborting_;
};

/// Counts the sessions it makes; the first `failures` attempts fail.
class CountingCreator final : public SessionCreator {
 public:
  explicit CountingCreator(Graph& graph) : graph_(&graph) {}
  Graph& graph() override { return *graph_; }
  OwnedSession create_session() override {
    ++calls;
    if (failures-- > 0) throw UnavailableError("not yet");
    return OwnedSession::make<SmallEngine>(*graph_);
  }
  [[nodiscard]] bool has_checkpoint() const noexcept override { return keeps_checkpoints; }
  bool keeps_checkpoints = true;
  int calls = 0;
  int failures = 0;

 private:
  Graph* graph_;
};

/// A thread of the first session reports `error` once `runs` runs are done; after_run returns only when it has. If
/// `then` is given, after_run throws that afterwards.
class Stopper final : public SessionRunHook {
 public:
  Stopper(int runs, std::exception_ptr error, std::exception_ptr then = nullptr)
      : runs_(runs), error_(std::move(error)), then_(std::move(then)) {}
  void after_create_session(SessionRef, Coordinator& coordinator) override {
    coordinators.push_back(&coordinator);
    if (!std::exchange(started_, true)) {
      coordinator.start_thread([this, &coordinator](const std::stop_token&) {
        due_.wait(false);
        coordinator.request_stop(error_);
      });
    }
  }
  void after_run(SessionRunContext&, const SessionRunValues&) override { count(); }
  /// Another run is done.
  void count() {
    if (--runs_ != 0) return;
    due_ = true;
    due_.notify_all();
    coordinators.front()->wait_for_stop();
    if (then_ != nullptr) std::rethrow_exception(then_);
  }

  std::vector<Coordinator*> coordinators;

 private:
  int runs_;
  std::exception_ptr error_;
  std::exception_ptr then_;
  bool started_ = false;
  std::atomic<bool> due_ = false;
};

class LossTest : public ::testing::Test {
 protected:
  ~LossTest() override { set_log_sink(previous_sink); }

  MonitoredSessionOptions options(HookList hooks, RetryPolicy retry = {}) {
    return {.hooks = std::move(hooks), .retry = std::move(retry), .file_system = &disk, .clock = &clock};
  }
  auto fed(float value) {
    return [this, value](StepContext<SmallEngine>& step) {
      return step.run_with_hooks(out, {{in, value}}).scalar<float>();
    };
  }
  float run(Session& session, float value) { return session.run(out, {{in, value}}).scalar<float>(); }

  testing::ManualClock clock;
  testing::MemoryFileSystem disk;
  Graph graph;
  Output in = placeholder(graph, DType::Float, Shape{}, "in");
  Output out = identity(in, "out");
  std::shared_ptr<CountingCreator> counting = std::make_shared<CountingCreator>(graph);
  std::string log;
  LogSink previous_sink = set_log_sink([this](LogLevel, std::string_view line) { log.append(line).append("\n"); });
};

TEST_F(LossTest, M025_M039_ShowsTheGraph) {
  Session session(counting, options({}));
  EXPECT_EQ(&session.graph(), &graph);
  EXPECT_EQ(&session.raw_session().graph(), &graph);
}

TEST_F(LossTest, M030_M040_Runs) {
  Session session(counting, options({}));
  EXPECT_EQ(run(session, 51), 51);
}

TEST_F(LossTest, SaysSoIfTheGraphHasNoGlobalStep) {
  const Session session(counting, options({}));
  try {
    (void)session.global_step();
    FAIL();
  } catch (const FailedPreconditionError& error) {
    EXPECT_STREQ(error.what(),
                 "global_step: the graph has none; call get_or_create_global_step(graph) before the session is made");
  }
}

TEST_F(LossTest, M026_M029_IsOverOnceItIsClosed) {
  Session session(counting, options({}));
  EXPECT_FALSE(session.should_stop());
  session.close();
  EXPECT_TRUE(session.should_stop());
  session.close();
  EXPECT_TRUE(session.should_stop());
}

TEST_F(LossTest, S43_NeedsNoCheckpointBeforeThereWasASession) {
  counting->keeps_checkpoints = false;
  counting->failures = 1;
  Session session(counting, options({}, {.require_checkpoint = true}));
  EXPECT_EQ(counting->calls, 2);
  EXPECT_EQ(log.find("initial values"), std::string::npos) << "nothing is lost";
}

TEST_F(LossTest, WaitsForBackgroundSavesBeforeItLooksForACheckpoint) {
  struct Creator final : SessionCreator {
    Creator(Graph& of, std::string& to) : its_graph(&of), trace(&to) {}
    Graph& graph() override { return *its_graph; }
    OwnedSession create_session() override {
      *trace += "create ";
      return OwnedSession::make<SmallEngine>(*its_graph);
    }
    [[nodiscard]] bool has_checkpoint() const noexcept override {
      *trace += "look ";
      return true;
    }
    Graph* its_graph;
    std::string* trace;
  };
  struct Saving final : SessionRunHook {
    explicit Saving(std::string& to) : trace(&to) {}
    void begin(Graph&) override {
      services().before_recovery([this] { *trace += "wait "; });
    }
    std::string* trace;
  };
  struct Losing final : SessionRunHook {
    void after_create_session(SessionRef, Coordinator&) override {
      if (++sessions == 2) throw AbortedError("lost again");
    }
    SessionRunArgs before_run(SessionRunContext&) override {
      if (++runs == 1) throw AbortedError("lost");
      return {};
    }
    int sessions = 0, runs = 0;
  };
  std::string trace;
  Session session(std::make_shared<Creator>(graph, trace),
                  options({Losing(), Saving(trace)}, {.require_checkpoint = true}));
  EXPECT_EQ(trace, "create ");
  EXPECT_EQ(run(session, 1), 1);
  EXPECT_EQ(trace, "create wait look create wait look create ");
}

TEST_F(LossTest, M027_AsksAgainEachTimeWhetherToStop) {
  struct Holding final : SessionRunHook {
    void after_create_session(SessionRef, Coordinator& of_session) override { coordinator = &of_session; }
    Coordinator* coordinator = nullptr;
  };
  const auto holding = std::make_shared<Holding>();
  Session session(counting, options({holding}));
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(session.should_stop());
  holding->coordinator->request_stop();
  EXPECT_TRUE(session.should_stop());
  session.close();
}

TEST_F(LossTest, M041_GoesThroughSessionsUntilNoneIsLeft) {
  const auto aborting = std::make_shared<Aborting>();
  const auto creator = std::make_shared<LimitedCreator>(graph, std::deque<int>{2, 3, 4}, aborting);
  Session session(creator, options({aborting}));
  const std::vector<std::pair<float, std::size_t>> runs = {{51, 2}, {42, 1}, {33, 1}, {24, 0}, {11, 0}, {0, 0}};
  for (const auto& [value, left] : runs) {
    EXPECT_EQ(run(session, value), value);
    EXPECT_EQ(creator->lives.size(), left) << value;
  }
  EXPECT_THROW(run(session, -32), NotFoundError);
}

TEST_F(LossTest, M042_AThreadsLossIsAnsweredInShouldStop) {
  const auto stopper = std::make_shared<Stopper>(2, std::make_exception_ptr(AbortedError("lost")));
  Session session(counting, options({stopper}));
  EXPECT_EQ(run(session, 51), 51);
  EXPECT_FALSE(session.should_stop());
  EXPECT_EQ(run(session, 42), 42);
  EXPECT_FALSE(session.should_stop());
  EXPECT_EQ(counting->calls, 2);
}

TEST_F(LossTest, M045_AThreadsLossIsAnsweredInShouldStopAfterAStepFunction) {
  const auto stopper = std::make_shared<Stopper>(2, std::make_exception_ptr(AbortedError("lost")));
  Session session(counting, options({stopper}));
  EXPECT_EQ(session.run_step_fn(fed(51)), 51);
  EXPECT_FALSE(session.should_stop());
  EXPECT_EQ(session.run_step_fn(fed(42)), 42);
  EXPECT_FALSE(session.should_stop());
  EXPECT_EQ(counting->calls, 2);
}

TEST_F(LossTest, M046_AThreadsOtherErrorStopsTheLoopAndComesOutOfClose) {
  const auto stopper = std::make_shared<Stopper>(2, std::make_exception_ptr(UnknownError("who knows")));
  Session session(counting, options({stopper}));
  EXPECT_EQ(session.run_step_fn(fed(51)), 51);
  EXPECT_FALSE(session.should_stop());
  EXPECT_EQ(session.run_step_fn(fed(42)), 42);
  EXPECT_TRUE(session.should_stop());
  EXPECT_EQ(counting->calls, 1);
  EXPECT_THROW(session.close(), UnknownError);
}

TEST_F(LossTest, M047_AThreadsLossGoesBeforeTheErrorThatItCaused) {
  const auto stopper = std::make_shared<Stopper>(2, std::make_exception_ptr(AbortedError("lost")),
                                                 std::make_exception_ptr(CancelledError("so this was cancelled")));
  Session session(counting, options({stopper}));
  EXPECT_EQ(session.run_step_fn(fed(51)), 51);
  EXPECT_FALSE(session.should_stop());
  EXPECT_EQ(session.run_step_fn(fed(42)), 42);
  EXPECT_FALSE(session.should_stop());
  EXPECT_EQ(counting->calls, 2);
}

TEST_F(LossTest, M049_AThreadsOtherErrorStopsALoopOfRawRunsToo) {
  const auto stopper = std::make_shared<Stopper>(2, std::make_exception_ptr(UnknownError("who knows")));
  Session session(counting, options({stopper}));
  const auto raw = [&](float value) {
    return session.run_step_fn([&](StepContext<SmallEngine>& step) {
      const float result = step.session().run(out, {{in, value}}).scalar<float>();
      stopper->count();
      return result;
    });
  };
  EXPECT_EQ(raw(51), 51);
  EXPECT_FALSE(session.should_stop());
  EXPECT_EQ(raw(42), 42);
  EXPECT_TRUE(session.should_stop());
  EXPECT_EQ(counting->calls, 1);
  EXPECT_THROW(session.close(), UnknownError);
}

TEST_F(LossTest, M050_AThreadsLossGoesBeforeTheErrorOfARawRunThatItCaused) {
  const auto stopper = std::make_shared<Stopper>(2, std::make_exception_ptr(AbortedError("lost")),
                                                 std::make_exception_ptr(CancelledError("so this was cancelled")));
  Session session(counting, options({stopper}));
  const auto raw = [&](float value) {
    return session.run_step_fn([&](StepContext<SmallEngine>& step) {
      const float result = step.session().run(out, {{in, value}}).scalar<float>();
      stopper->count();
      return result;
    });
  };
  EXPECT_EQ(raw(51), 51);
  EXPECT_EQ(raw(42), 42);
  EXPECT_FALSE(session.should_stop());
  EXPECT_EQ(counting->calls, 2);
}

TEST_F(LossTest, X20_EverySessionHasACoordinatorOfItsOwnAndThreadsEndWithTheirs) {
  struct Threaded final : SessionRunHook {
    explicit Threaded(Clock& of) : clock(&of) {}
    void after_create_session(SessionRef, Coordinator& coordinator) override {
      coordinators.push_back(&coordinator);
      ++alive;
      coordinator.start_thread([this](const std::stop_token& stop) {
        detail::wait_for_stop(stop, *clock, clock->monotonic_now() + std::chrono::hours(24));
        --alive;
      });
    }
    SessionRunArgs before_run(SessionRunContext&) override {
      if (std::exchange(aborts, false)) throw AbortedError("lost");
      alive_at_last_run = alive;
      return {};
    }
    Clock* clock;
    std::vector<Coordinator*> coordinators;
    std::atomic<int> alive = 0;
    int alive_at_last_run = 0;
    bool aborts = true;
  };
  const auto hook = std::make_shared<Threaded>(clock);
  Session session(counting, options({hook}));
  EXPECT_EQ(run(session, 1), 1);
  EXPECT_EQ(hook->coordinators.size(), 2U);
  EXPECT_EQ(hook->alive_at_last_run, 1);  // the first one's has ended
  session.close();
  EXPECT_EQ(hook->alive, 0);
}

TEST_F(LossTest, X23_AFeedFunctionIsCalledAgainOnARetryAndToldOfTheFailure) {
  struct FeedFn final : SessionRunHook {
    explicit FeedFn(Output fed) : key(fed) {}
    SessionRunArgs before_run(SessionRunContext&) override {
      return {.feed_dict = {{key, static_cast<float>(++calls)}}};
    }
    void on_run_failed(SessionRunContext&, const std::exception_ptr&) override { ++failures; }
    Output key;
    int calls = 0;
    int failures = 0;
  };
  struct AbortOnce final : SessionRunHook {
    SessionRunArgs before_run(SessionRunContext&) override {
      if (!std::exchange(done, true)) throw AbortedError("lost");
      return {};
    }
    bool done = false;
  };
  const auto feed = std::make_shared<FeedFn>(in);
  Session session(counting, options({feed, AbortOnce()}));
  EXPECT_EQ(session.run(out).scalar<float>(), 2);  // the first batch is gone unless the hook takes it back (S6)
  EXPECT_EQ(feed->calls, 2);
  EXPECT_EQ(feed->failures, 1);
}

TEST_F(LossTest, X26_S2_TriesAgainAsOftenAsThePolicyAllows) {
  counting->failures = 3;
  Session session(counting, options({}, {.max_attempts = 3}));
  EXPECT_EQ(counting->calls, 4);
  counting->calls = 0;
  counting->failures = 3;
  EXPECT_THROW(Session(counting, options({}, {.max_attempts = 2})), UnavailableError);
  EXPECT_EQ(counting->calls, 3);
}

TEST_F(LossTest, WithoutAttemptsALossIsAnErrorAsAnyOther) {
  const auto aborting = std::make_shared<Aborting>();
  aborting->runs_left = 2;
  Session session(counting, options({aborting}, {.max_attempts = 0}));
  EXPECT_EQ(run(session, 1), 1);
  EXPECT_THROW(run(session, 2), AbortedError);
  EXPECT_FALSE(session.should_stop());
  EXPECT_EQ(run(session, 3), 3);
  EXPECT_EQ(counting->calls, 1);
}

/// A loop over sessions that are restored at the step of their last save, which some hook's callback at step 3 may
/// lose.
class LastStepTest : public ::testing::Test {
 protected:
  using Scripted = MonitoredSession<testing::ScriptedSession>;

  ~LastStepTest() override { set_log_sink(previous_sink); }

  /// Saves after each run, as a checkpoint hook with a listener: the one at step 3 loses the session when all is saved.
  class Saving final : public SessionRunHook {
   public:
    explicit Saving(testing::Script& of) : script(&of) {}
    void after_run(SessionRunContext& context, const SessionRunValues&) override {
      script->initial_values["global_step"] = Tensor(context.global_step());
      if (context.global_step() == 3 && !std::exchange(lost, true))
        throw UnavailableError("the listener's server is gone");
    }
    void end(SessionRef) override { ended = true; }
    void abort(const std::exception_ptr&) noexcept override { aborted = true; }
    testing::Script* script;
    bool lost = false, ended = false, aborted = false;
  };

  /// The saver comes first, so that at step 3 the other hook is never told of the run.
  Scripted start() {
    saving = std::make_shared<Saving>(script);
    return Scripted(std::make_shared<testing::ScriptedSessionCreator>(script),
                    {.hooks = {saving, StopAtStepHook({.last_step = 3})}, .file_system = &disk, .clock = &clock});
  }
  void expect_three_steps() const {
    EXPECT_EQ(script.runs, 3);
    EXPECT_EQ(script.sessions, 2);
    EXPECT_EQ(script.initial_values.at("global_step").scalar<std::int64_t>(), 3);
    EXPECT_TRUE(saving->ended);
    EXPECT_FALSE(saving->aborted);
  }

  testing::ManualClock clock;
  testing::MemoryFileSystem disk;
  testing::Script script;
  std::shared_ptr<Saving> saving;
  std::string log;
  LogSink previous_sink = set_log_sink([this](LogLevel, std::string_view line) { log.append(line).append("\n"); });
};

TEST_F(LastStepTest, S16_APlainLoopOverAnOperationEndsWithoutAFurtherStep) {
  Scripted session = start();
  while (!session.should_stop()) session.run(script.train());
  session.close();
  expect_three_steps();
}

TEST_F(LastStepTest, S16_APlainLoopOverTheUsersOwnStepEndsWithoutAFurtherStep) {
  Scripted session = start();
  int steps = 0;
  while (!session.should_stop()) session.run([&] { ++steps; });
  session.close();
  EXPECT_EQ(steps, 3);
  expect_three_steps();
}

TEST_F(LastStepTest, S16_APlainLoopOverAStepFunctionEndsWithoutAFurtherStep) {
  Scripted session = start();
  while (!session.should_stop()) {
    session.run_step_fn(
        [&](StepContext<testing::ScriptedSession>& context) { context.run_with_hooks(script.train()); });
  }
  session.close();
  expect_three_steps();
}

TEST_F(LastStepTest, S16_TheLoopFunctionEndsWithoutAFurtherStepWhateverTheRunGives) {
  const std::vector<std::function<void(Scripted&)>> forms = {
      [&](Scripted& session) { session.run(script.train()); },
      [&](Scripted& session) {
        (void)session.run({script.train(), script.global_step.read});
      },
      [&](Scripted& session) { (void)session.run([] { return 1.5; }); },
      [&](Scripted& session) {
        (void)session.run_step_fn([&](StepContext<testing::ScriptedSession>& context) {
          context.run_with_hooks(script.train());
          return 1.5;
        });
      },
  };
  for (const auto& form : forms) {
    script.initial_values["global_step"] = Tensor(std::int64_t{0});
    script.runs = script.sessions = 0;
    Scripted session = start();
    run_until_stop(session, [&] { form(session); });
    expect_three_steps();
  }
}

TEST_F(LastStepTest, S16_IfAResultWasToBeGivenTheRunEndsAsAtTheEndOfInput) {
  Scripted session = start();
  session.run(script.train());
  session.run(script.train());
  EXPECT_THROW((void)session.run({script.train(), script.global_step.read}), OutOfRangeError);
  EXPECT_TRUE(session.should_stop());
  session.close();
  expect_three_steps();
}

TEST_F(LastStepTest, S16_AThreadsLossAtTheLastStepEndsTheLoopInShouldStop) {
  struct Holding final : SessionRunHook {
    void after_create_session(SessionRef, Coordinator& of_session) override { coordinator = &of_session; }
    Coordinator* coordinator = nullptr;
  };
  const auto holding = std::make_shared<Holding>();
  Scripted session(std::make_shared<testing::ScriptedSessionCreator>(script),
                   {.hooks = {holding, StopAtStepHook({.last_step = 3})}, .file_system = &disk, .clock = &clock});
  EXPECT_FALSE(session.should_stop());
  script.initial_values["global_step"] = Tensor(std::int64_t{3});
  holding->coordinator->request_stop(std::make_exception_ptr(AbortedError("lost")));
  EXPECT_TRUE(session.should_stop());
  EXPECT_EQ(script.sessions, 2);
  session.close();
  EXPECT_EQ(script.runs, 0);
}

/// Asks for the end at its first before_run or after_run.
class Asking final : public SessionRunHook {
 public:
  explicit Asking(bool early) : early_(early) {}
  SessionRunArgs before_run(SessionRunContext& context) override {
    ++attempts;
    if (early_ && attempts == 1) context.request_stop();
    return {};
  }
  void after_run(SessionRunContext& context, const SessionRunValues&) override {
    if (!early_ && attempts == 1) context.request_stop();
  }
  int attempts = 0;

 private:
  bool early_;
};

TEST_F(LastStepTest, S5_AStopRequestSurvivesTheLossOfTheSessionInTheSameRun) {
  for (const bool early : {true, false}) {
    script.initial_values["global_step"] = Tensor(std::int64_t{2});
    script.runs = script.sessions = 0;
    saving = std::make_shared<Saving>(script);
    const auto asking = std::make_shared<Asking>(early);
    Scripted session(std::make_shared<testing::ScriptedSessionCreator>(script),
                     {.hooks = {asking, saving}, .file_system = &disk, .clock = &clock});
    session.run(script.train());
    EXPECT_TRUE(session.should_stop());
    EXPECT_THROW(session.run(script.train()), FailedPreconditionError);
    EXPECT_EQ(asking->attempts, 1);
    session.close();
    EXPECT_EQ(script.runs, 1);
    EXPECT_EQ(script.sessions, 2);
    EXPECT_TRUE(saving->ended);
    EXPECT_NE(log.find("a stop had been requested before the session was lost: the loop ends here"), std::string::npos);
  }
}

TEST_F(LossTest, S12_ALossAgainDuringTheRecoveryIsAnsweredToo) {
  struct Losing final : SessionRunHook {
    void after_create_session(SessionRef, Coordinator& of_session) override {
      coordinator = &of_session;
      if (++sessions == 2) coordinator->request_stop(std::make_exception_ptr(AbortedError("lost again")));
    }
    Coordinator* coordinator = nullptr;
    int sessions = 0;
  };
  const auto losing = std::make_shared<Losing>();
  Session session(counting, options({losing}));
  losing->coordinator->request_stop(std::make_exception_ptr(AbortedError("lost")));
  EXPECT_FALSE(session.should_stop());
  EXPECT_EQ(counting->calls, 3);
}

/// Does what the test wants while a coordinator holds its lock.
class LockedMoment final : public Clock {
 public:
  std::function<void()> act;
  [[nodiscard]] Duration monotonic_now() override { return {}; }
  [[nodiscard]] double wall_seconds() override { return 0; }
  bool wait_until(std::unique_lock<std::mutex>&, std::condition_variable&, Duration,
                  FunctionRef<bool()> ready) override {
    if (act) std::exchange(act, {})();
    return ready();
  }
};

TEST_F(LossTest, AskingWhetherToStopTakesNoLock) {
  struct Holding final : SessionRunHook {
    void after_create_session(SessionRef, Coordinator& of_session) override { coordinator = &of_session; }
    Coordinator* coordinator = nullptr;
  };
  const auto holding = std::make_shared<Holding>();
  LockedMoment locked;
  Session session(counting, {.hooks = {holding}, .file_system = &disk, .clock = &locked});
  bool asked = false;
  locked.act = [&] {
    auto answer = std::async(std::launch::async, [&] { return session.should_stop(); });
    EXPECT_FALSE(answer.get());  // with a lock, for ever
    asked = true;
  };
  EXPECT_FALSE(holding->coordinator->wait_for_stop(std::chrono::seconds(1)));
  EXPECT_TRUE(asked);
}

TEST_F(LossTest, AStopThatAThreadRequestedBeforeALossStays) {
  const auto stopper = std::make_shared<Stopper>(2, nullptr, std::make_exception_ptr(AbortedError("lost")));
  Session session(counting, options({stopper}));
  EXPECT_EQ(run(session, 1), 1);
  EXPECT_THROW(run(session, 2), OutOfRangeError) << "the run is not repeated";
  EXPECT_TRUE(session.should_stop());
  EXPECT_EQ(counting->calls, 2);
  session.close();
  EXPECT_EQ(session.why_it_ended(), "a background thread requested a stop");
}

TEST_F(LossTest, AStopByASignalStaysOneIfAThreadStopsToo) {
  const auto stopper = std::make_shared<Stopper>(2, nullptr, std::make_exception_ptr(AbortedError("lost")));
  const auto signal = make_hook<LambdaHook>({.before_run =
                                                 [runs = 0](SessionRunContext& context) mutable {
                                                   if (++runs == 2) context.interrupt("SIGTERM");
                                                   return SessionRunArgs();
                                                 },
                                             .phase = HookPhase::Check});
  Session session(counting, options({signal, stopper}));
  EXPECT_EQ(run(session, 1), 1);
  EXPECT_THROW(run(session, 2), OutOfRangeError);
  session.close();
  EXPECT_EQ(session.why_it_ended(), "SIGTERM");
}

TEST_F(LossTest, TheEndOfAThreadsInputIsNoStopThatStays) {
  const auto stopper = std::make_shared<Stopper>(2, std::make_exception_ptr(OutOfRangeError("End of sequence")),
                                                 std::make_exception_ptr(AbortedError("lost")));
  Session session(counting, options({stopper}));
  EXPECT_EQ(run(session, 1), 1);
  EXPECT_EQ(run(session, 2), 2);
  EXPECT_FALSE(session.should_stop()) << "the recovered session has its input again";
}

TEST_F(LossTest, ALossThatNoOneAskedAboutNoLongerMattersAtTheEnd) {
  const auto stopper = std::make_shared<Stopper>(1, std::make_exception_ptr(AbortedError("lost")));
  Session session(counting, options({stopper}));
  EXPECT_EQ(run(session, 1), 1);
  session.close();
  EXPECT_TRUE(session.errors().empty());
}

}  // namespace
}  // namespace trainhook
