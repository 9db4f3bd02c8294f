// SPDX-License-Identifier: Apache-2.0
/// @file
/// SessionManager over graphs with real variables: what is initialized, recovered and waited for, and the words when it
/// is not.
#include <trainhook/monitored/session_manager.hpp>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <shared_session_double.hpp>
#include <small_engine.hpp>
#include <trainhook/checkpoint/saver.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/ops/control_flow.hpp>
#include <trainhook/graph/ops/state.hpp>
#include <trainhook/model/ops/math.hpp>
#include <trainhook/testing/manual_clock.hpp>
#include <trainhook/testing/memory_file_system.hpp>

namespace trainhook {
namespace {

using namespace std::chrono_literals;
using support::report_uninitialized;
using support::SmallEngine;

Variable local_variable(const std::string& name, Output initial) {
  return make_variable(name, initial, {.trainable = false, .collections = {std::string(graph_keys::kLocalVariables)}});
}

/// A graph with a global variable `v` and, if asked for, a local `w` that starts as `v`'s initial value or as a number.
struct Model {
  explicit Model(float initial) : v(make_variable("v", constant(graph, Tensor(initial), "v/initial"))) {}
  explicit Model(Output (*make_initial)(Graph&)) : v(make_variable("v", make_initial(graph))) {}

  Graph graph;
  Variable v;
};

class SessionManagerGraphTest : public ::testing::Test {
 protected:
  ~SessionManagerGraphTest() override { set_log_sink(previous_sink); }

  SessionManagerOptions with_clock(SessionManagerOptions options) {
    options.file_system = &disk;
    options.clock = &clock;
    return options;
  }
  auto open(Graph& graph) {
    return [this, &graph] {
      ++opened;
      return OwnedSession::make<SmallEngine>(graph);
    };
  }
  std::shared_ptr<Saver> saver() {
    return std::make_shared<Saver>(SaverOptions{.file_system = &disk, .clock = &clock});
  }
  static float value(const OwnedSession& owned, const Variable& variable) {
    return SessionRef(owned.session).run(variable.read).scalar<float>();
  }
  static bool has_value(const OwnedSession& owned, const Variable& variable) {
    try {
      (void)value(owned, variable);
      return true;
    } catch (const FailedPreconditionError&) { return false; }
  }
  template <class E, class Action>
  static std::string message_of(Action action) {
    try {
      action();
    } catch (const E& error) { return error.what(); }
    return "nothing was thrown";
  }
  /// Stores `v` = `value` as run/model.ckpt-`step`.
  void store(float value, std::int64_t step) {
    Model model(value);
    SmallEngine session(model.graph);
    session.run(model.v.initializer);
    saver()->save(session, {.save_path = "run/model.ckpt", .global_step = step});
  }

  testing::MemoryFileSystem disk;
  testing::ManualClock clock;
  int opened = 0;
  std::string log;
  LogSink previous_sink = set_log_sink([this](LogLevel, std::string_view line) { log.append(line).append("\n"); });
};

/// How a model tells that it is ready: by the names of what is not, or, in the old way, by an operation that fails
/// until it is.
enum class Probe { Names, Assertion };
Output ready_probe(Graph& graph, const Variable& variable, Probe probe) {
  return probe == Probe::Names ? report_uninitialized(graph, {variable}) : identity(variable.read, "assert");
}

void prepares_with_init_op(SessionManagerOptions options, Model& model, Probe probe) {
  options.ready_op = ready_probe(model.graph, model.v, probe);
  SessionManager manager(std::move(options));
  const OwnedSession owned = manager.prepare_session([&] { return OwnedSession::make<SmallEngine>(model.graph); }, {},
                                                     {.init_op = global_variables_initializer(model.graph)});
  const Tensor value = SessionRef(owned.session).run(model.v.read);
  EXPECT_EQ(value, Tensor::of<float>({1, 2, 3}));
}

Output one_two_three(Graph& graph) { return constant(graph, Tensor::of<float>({1, 2, 3}), "v/initial"); }

TEST_F(SessionManagerGraphTest, SM01_SM23_RunsTheInitOpIfNothingIsRestored) {
  for (const Probe probe : {Probe::Names, Probe::Assertion}) {
    Model model(one_two_three);
    prepares_with_init_op(with_clock({}), model, probe);
  }
}

TEST_F(SessionManagerGraphTest, SM02_SM24_FeedsTheInitOp) {
  for (const Probe probe : {Probe::Names, Probe::Assertion}) {
    Graph graph;
    const Output fed = placeholder(graph, DType::Float, Shape{3}, "fed");
    const Variable v = make_variable("v", fed);
    SessionManager manager(with_clock({.ready_op = ready_probe(graph, v, probe)}));
    const OwnedSession owned = manager.prepare_session(
        open(graph), {}, {.init_op = v.initializer, .init_feed_dict = {{fed, Tensor::of<float>({1, 2, 3})}}});
    EXPECT_EQ(SessionRef(owned.session).run(v.read), Tensor::of<float>({1, 2, 3}));
  }
}

TEST_F(SessionManagerGraphTest, SM03_SM25_AnInitFunctionAloneIsEnough) {
  for (const Probe probe : {Probe::Names, Probe::Assertion}) {
    Model model(125);
    SessionManager manager(with_clock({.ready_op = ready_probe(model.graph, model.v, probe)}));
    const OwnedSession owned = manager.prepare_session(
        open(model.graph), {}, {.init_fn = [&](SessionRef session) { session.run(model.v.initializer); }});
    EXPECT_EQ(value(owned, model.v), 125);
  }
}

TEST_F(SessionManagerGraphTest, TheInitFunctionComesAfterTheInitOpAndNeitherAfterARestore) {
  store(7, 1);
  Model model(1);
  const Operation doubled = assign(model.v, model.v.read * 2).operation();
  SessionManager manager(with_clock({.ready_op = report_uninitialized(model.graph, {model.v})}));
  int calls = 0;
  const InitOptions init{.init_op = model.v.initializer, .init_fn = [&](SessionRef session) {
                           ++calls;
                           session.run(doubled);
                         }};
  EXPECT_EQ(value(manager.prepare_session(open(model.graph), {}, init), model.v), 2);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(
      value(manager.prepare_session(open(model.graph), {.saver = saver(), .checkpoint_dir = "run"}, init), model.v), 7);
  EXPECT_EQ(calls, 1);
}

TEST_F(SessionManagerGraphTest, SM05_SM26_WithoutCheckpointOrInitializationSaysWhatIsMissing) {
  store(1, 1);
  clock.auto_advance(true);
  for (const Probe probe : {Probe::Names, Probe::Assertion}) {
    Model model(2);
    const Duration start = clock.monotonic_now();
    SessionManager manager(with_clock({.ready_op = ready_probe(model.graph, model.v, probe)}));
    const auto prepare = [&](const std::string& directory) {
      return manager.prepare_session(
          open(model.graph),
          {.saver = saver(), .checkpoint_dir = directory, .wait_for_checkpoint = true, .max_wait_secs = 2s});
    };
    EXPECT_EQ(
        message_of<FailedPreconditionError>([&] { (void)prepare("elsewhere"); }),
        "Model is not initialized and no init_op or init_fn or local_init_op was given, nor is there a checkpoint. "
        "Variables not initialized: v");
    EXPECT_EQ(clock.monotonic_now() - start, 2s);  // S30: not the 30 s of one look
    EXPECT_EQ(value(prepare("run"), model.v), 1);
  }
}

TEST_F(SessionManagerGraphTest, WaitsForACheckpointThatComesLater) {
  Model model(2);
  std::vector<Duration> looks;
  class Arriving final : public Clock {  // the checkpoint is there at the third look
   public:
    Arriving(testing::ManualClock& clock, std::function<void()> arrive) : clock_(&clock), arrive_(std::move(arrive)) {}
    Duration monotonic_now() override { return clock_->monotonic_now(); }
    double wall_seconds() override { return clock_->wall_seconds(); }
    bool wait_until(std::unique_lock<std::mutex>&, std::condition_variable&, Duration deadline,
                    FunctionRef<bool()>) override {
      clock_->advance(deadline - clock_->monotonic_now());
      if (++waits == 2) arrive_();
      return false;
    }
    int waits = 0;

   private:
    testing::ManualClock* clock_;
    std::function<void()> arrive_;
  };
  Arriving arriving(clock, [this] { store(5, 1); });
  SessionManager manager({.recovery_wait_secs = 10s, .file_system = &disk, .clock = &arriving});
  const OwnedSession owned = manager.prepare_session(
      open(model.graph), {.saver = saver(), .checkpoint_dir = "run", .wait_for_checkpoint = true});
  EXPECT_EQ(value(owned, model.v), 5);
  EXPECT_EQ(arriving.waits, 2);
}

TEST_F(SessionManagerGraphTest, SM06_RecoversFromADirectoryOrAFileButNeverInitializes) {
  Model model(2);
  SessionManager manager(with_clock({.ready_op = report_uninitialized(model.graph, {model.v})}));
  {
    const SessionManager::Recovered none =
        manager.recover_session(open(model.graph), {.saver = saver(), .checkpoint_dir = "run"});
    EXPECT_FALSE(none.initialized);
    EXPECT_FALSE(has_value(none.session, model.v));
  }
  store(1, 1);
  const SessionManager::Recovered from_directory =
      manager.recover_session(open(model.graph), {.saver = saver(), .checkpoint_dir = "run"});
  EXPECT_TRUE(from_directory.initialized);
  EXPECT_EQ(value(from_directory.session, model.v), 1);
  const SessionManager::Recovered from_file = manager.recover_session(
      open(model.graph), {.saver = saver(), .checkpoint_filename_with_path = "run/model.ckpt-1"});
  EXPECT_TRUE(from_file.initialized);
  EXPECT_EQ(value(from_file.session, model.v), 1);
  const int before = opened;
  EXPECT_EQ(message_of<InvalidArgumentError>([&] {
              (void)manager.recover_session(
                  open(model.graph),
                  {.saver = saver(), .checkpoint_dir = "run", .checkpoint_filename_with_path = "run/model.ckpt-1"});
            }),
            "checkpoint_dir 'run' and checkpoint_filename_with_path 'run/model.ckpt-1' cannot both be given");
  EXPECT_EQ(opened, before);  // S30: nothing was opened that could leak
}

TEST_F(SessionManagerGraphTest, SM07_SM28_S30_AWaitThatIsInVainEndsAtItsDeadline) {
  clock.auto_advance(true);
  for (const Probe probe : {Probe::Names, Probe::Assertion}) {
    Model model(1);
    SessionManager manager(
        with_clock({.ready_op = ready_probe(model.graph, model.v, probe), .recovery_wait_secs = 2s}));
    const Duration start = clock.monotonic_now();
    const int before = opened;
    const std::string message =
        message_of<DeadlineExceededError>([&] { (void)manager.wait_for_session(open(model.graph), 3s); });
    EXPECT_TRUE(message.starts_with("Session was not ready after waiting 3 secs. ")) << message;
    EXPECT_NE(message.find(probe == Probe::Names ? "Variables not initialized: v" : "uninitialized value v"),
              std::string::npos)
        << message;
    EXPECT_EQ(clock.monotonic_now() - start, 3s);
    EXPECT_EQ(opened - before, 3);  // at once, after 2 s, and at the deadline
  }
}

TEST_F(SessionManagerGraphTest, SM08_AReadyProbeForALocalInitOpThatIsMissingIsAnError) {
  Model model(1);
  EXPECT_EQ(message_of<InvalidArgumentError>(
                [&] { SessionManager({.ready_for_local_init_op = report_uninitialized(model.graph, {model.v})}); }),
            "SessionManager: ready_for_local_init_op is 'report:0'. If you pass a ready_for_local_init_op you must "
            "also pass a "
            "local_init_op");
}

TEST_F(SessionManagerGraphTest, AWaitMustBePositive) {
  EXPECT_EQ(message_of<InvalidArgumentError>([] { SessionManager({.recovery_wait_secs = 0s}); }),
            "SessionManager: recovery_wait_secs is 0; it must be above 0");
}

TEST_F(SessionManagerGraphTest, SM09_InitializesLocalVariablesOfARecoveredModel) {
  store(1, 1);
  Model model(2);
  const Variable w = local_variable("w", model.v.read);
  SessionManager manager(with_clock({.local_init_op = w.initializer,
                                     .ready_op = report_uninitialized(model.graph, {model.v, w}),
                                     .ready_for_local_init_op = report_uninitialized(model.graph, {model.v})}));
  const SessionManager::Recovered recovered =
      manager.recover_session(open(model.graph), {.saver = saver(), .checkpoint_dir = "run"});
  EXPECT_TRUE(recovered.initialized);
  EXPECT_EQ(value(recovered.session, model.v), 1);
  EXPECT_EQ(value(recovered.session, w), 1);
}

TEST_F(SessionManagerGraphTest, SM11_RunsTheLocalInitOpThoughNothingWasRecovered) {
  Model model(1);
  const Variable w = local_variable("w", constant(model.graph, Tensor(1.0F), "one"));
  SessionManager manager(
      with_clock({.local_init_op = w.initializer, .ready_op = report_uninitialized(model.graph, {model.v, w})}));
  const SessionManager::Recovered recovered = manager.recover_session(open(model.graph), {});
  EXPECT_FALSE(recovered.initialized);
  EXPECT_FALSE(has_value(recovered.session, model.v));
  EXPECT_EQ(value(recovered.session, w), 1);
}

TEST_F(SessionManagerGraphTest, ARecoveredModelThatIsNotReadySaysWhyInTheLog) {
  store(1, 1);
  Model model(2);
  const Variable w = local_variable("w", model.v.read);
  SessionManager manager(with_clock({.ready_op = report_uninitialized(model.graph, {model.v, w})}));
  EXPECT_FALSE(manager.recover_session(open(model.graph), {.saver = saver(), .checkpoint_dir = "run"}).initialized);
  EXPECT_NE(log.find("restoring run/model.ckpt-1 did not make the model ready: Variables not initialized: w"),
            std::string::npos)
      << log;
}

TEST_F(SessionManagerGraphTest, SM13_WaitsUntilAnotherSessionHasInitializedTheModelThenInitializesLocals) {
  Model model(1);
  const Variable w = local_variable("w", model.v.read);
  SessionManager manager(with_clock({.local_init_op = w.initializer,
                                     .ready_op = report_uninitialized(model.graph, {model.v, w}),
                                     .ready_for_local_init_op = report_uninitialized(model.graph, {model.v}),
                                     .recovery_wait_secs = 1s}));
  clock.auto_advance(true);
  SmallEngine shared(model.graph);
  const auto share = std::make_shared<support::SharedSessionDouble>();
  int looks = 0;
  const OwnedSession owned = manager.wait_for_session(
      [&] {
        if (++looks == 2) shared.run(model.v.initializer);  // the other session does
        return OwnedSession{.owner = {}, .session = shared, .shared = share};
      },
      3s);
  EXPECT_EQ(looks, 2);
  EXPECT_EQ(value(owned, model.v), 1);
  EXPECT_EQ(value(owned, w), 1);
}

TEST_F(SessionManagerGraphTest, AWaitWithoutEndPausesBetweenLooks) {
  clock.auto_advance(true);
  Model model(1);
  SessionManager manager(
      with_clock({.ready_op = report_uninitialized(model.graph, {model.v}), .recovery_wait_secs = 2s}));
  SmallEngine shared(model.graph);
  const Duration start = clock.monotonic_now();
  int looks = 0;
  (void)manager.wait_for_session(
      [&] {
        if (++looks == 3) shared.run(model.v.initializer);
        return OwnedSession{.owner = {}, .session = shared, .shared = std::make_shared<support::SharedSessionDouble>()};
      },
      Duration::max());
  EXPECT_EQ(clock.monotonic_now() - start, 4s);
}

TEST_F(SessionManagerGraphTest, SM14_ALocalInitProbeThatIsNeverSatisfiedEndsTheWait) {
  clock.auto_advance(true);
  Model model(1);
  const Variable w = local_variable("w", constant(model.graph, Tensor(1.0F), "one"));
  SessionManager manager(with_clock({.local_init_op = w.initializer,
                                     .ready_op = report_uninitialized(model.graph, {w}),
                                     .ready_for_local_init_op = report_uninitialized(model.graph, {model.v}),
                                     .recovery_wait_secs = 1s}));
  EXPECT_EQ(message_of<DeadlineExceededError>([&] { (void)manager.wait_for_session(open(model.graph), 3s); }),
            "Session was not ready after waiting 3 secs. Variables not initialized: v");
}

TEST_F(SessionManagerGraphTest, SM16_RunsAListOfLocalInitsOnceTheModelIsReadyForThem) {
  Model model(1);
  const Variable w = local_variable("w", model.v.read);
  const Variable x = local_variable("x", model.v.read * 3);
  SessionManager manager(with_clock({.local_init_op = group(model.graph, {w.initializer, x.initializer}),
                                     .ready_op = report_uninitialized(model.graph, {w, x}),
                                     .ready_for_local_init_op = report_uninitialized(model.graph, {model.v})}));
  const OwnedSession owned = manager.prepare_session(open(model.graph), {}, {.init_op = model.v.initializer});
  EXPECT_EQ(value(owned, model.v), 1);
  EXPECT_EQ(value(owned, w), 1);
  EXPECT_EQ(value(owned, x), 3);
}

TEST_F(SessionManagerGraphTest, SM18_AnInitialValueMayBeComputed) {
  Graph graph;
  const Variable v = make_variable("v", constant(graph, Tensor(2.0F), "two") * 0.25 + 0.5);
  SessionManager manager(with_clock({.ready_op = report_uninitialized(graph, {v})}));
  EXPECT_EQ(value(manager.prepare_session(open(graph), {}, {.init_op = v.initializer}), v), 1);
}

TEST_F(SessionManagerGraphTest, SM19_SM20_ALocalVariableThatNothingInitializesIsNamed) {
  for (const bool as_list : {false, true}) {
    Model model(1);
    const Variable w = local_variable("w", model.v.read);
    const Operation init_op = as_list ? group(model.graph, {model.v.initializer}) : model.v.initializer;
    SessionManager manager(with_clock({.ready_op = report_uninitialized(model.graph, {model.v, w})}));
    EXPECT_EQ(message_of<FailedPreconditionError>(
                  [&] { (void)manager.prepare_session(open(model.graph), {}, {.init_op = init_op}); }),
              "Init operations did not make model ready. Variables not initialized: w; give them initial values or a "
              "checkpoint");
  }
}

TEST_F(SessionManagerGraphTest, SM22_WithoutAProbeForLocalInitTheMissingVariableIsFoundAfterIt) {
  Model model(1);
  const Variable w = local_variable("w", model.v.initial_value);
  SessionManager manager(
      with_clock({.local_init_op = w.initializer, .ready_op = report_uninitialized(model.graph, {model.v, w})}));
  EXPECT_EQ(message_of<FailedPreconditionError>([&] { (void)manager.prepare_session(open(model.graph)); }),
            "Init operations did not make model ready. Variables not initialized: v; give them initial values or a "
            "checkpoint");
}

TEST_F(SessionManagerGraphTest, AModelThatIsNotReadyForLocalInitSaysSo) {
  Model model(1);
  const Variable w = local_variable("w", model.v.read);
  SessionManager manager(with_clock({.local_init_op = w.initializer, .ask_session = true}));
  EXPECT_EQ(message_of<FailedPreconditionError>([&] { (void)manager.prepare_session(open(model.graph)); }),
            "Init operations did not make model ready for local_init. Variables not initialized: v; give them initial "
            "values or a "
            "checkpoint");
}

TEST_F(SessionManagerGraphTest, AskedForReadinessTheSessionNamesGlobalAndLocalVariables) {
  Model model(1);
  const Variable w = local_variable("w", model.v.read);
  SmallEngine session(model.graph);
  EXPECT_EQ(report_uninitialized_variables(session), (std::vector<std::string>{"v", "w"}));
  EXPECT_EQ(report_uninitialized_variables(session, false), (std::vector<std::string>{"v"}));
  session.run(model.v.initializer);
  EXPECT_EQ(report_uninitialized_variables(session), (std::vector<std::string>{"w"}));
  session.run(w.initializer);
  EXPECT_TRUE(report_uninitialized_variables(session).empty());
}

TEST_F(SessionManagerGraphTest, AProbeThatFailsForAnotherReasonIsPassedOn) {
  Model model(1);
  SessionManager manager(with_clock({.ready_op = placeholder(model.graph, DType::String, Shape{}, "probe")}));
  EXPECT_THROW((void)manager.prepare_session(open(model.graph), {}, {.init_op = model.v.initializer}),
               InvalidArgumentError);
}

TEST_F(SessionManagerGraphTest, FeedsTheLocalInitOpAndGivesItItsOptions) {
  Graph graph;
  const Output fed = placeholder(graph, DType::Float, Shape{}, "fed");
  const Variable w = local_variable("w", fed);
  SessionManager manager(with_clock(
      {.local_init_op = w.initializer, .local_init_feed_dict = {{fed, 4.0F}}, .local_init_run_options = RunOptions{}}));
  EXPECT_EQ(value(manager.prepare_session(open(graph)), w), 4);
}

}  // namespace
}  // namespace trainhook
