// SPDX-License-Identifier: Apache-2.0
/// @file
/// Hooks that are derived from the stock hooks, as TensorFlow's users do.
#include <trainhook/hooks/hooks.hpp>

#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <trainhook/checkpoint/checkpoint_state.hpp>
#include <trainhook/checkpoint/saver.hpp>
#include <trainhook/events/summary.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/memory_file_system.hpp>
#include <trainhook/testing/run_steps.hpp>
#include <trainhook/testing/scripted_session.hpp>

namespace trainhook {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using Calls = std::vector<std::string>;

/// Hooks are moved into a list. A copy would count and save under the name of the first one.
template <class... Hook>
constexpr bool only_move = ((std::is_nothrow_move_constructible_v<Hook> && !std::is_copy_constructible_v<Hook> &&
                             !std::is_copy_assignable_v<Hook> && !std::is_move_assignable_v<Hook>)&&...);

static_assert(only_move<CsvLoggerHook, EarlyStoppingHook, EvaluationHook, ExponentialMovingAverageHook, FeedFnHook,
                        FinalOpsHook, HParamsHook, JsonLinesHook, LambdaHook, LearningRateWarmUpHook, LoggingTensorHook,
                        NanTensorHook, ProgressHook, ReduceLearningRateOnPlateauHook, SignalHook, StepCounterHook,
                        StopOnPredicateHook, SummarySaverHook>);

/// Writes down each call and lets the stock hook do its work.
template <class Hook>
class Derived final : public Hook {
 public:
  using Hook::Hook;

  void begin(Graph& graph) override {
    calls.emplace_back("begin");
    Hook::begin(graph);
  }
  SessionRunArgs before_run(SessionRunContext& context) override {
    calls.emplace_back("before_run");
    return Hook::before_run(context);
  }
  void after_run(SessionRunContext& context, const SessionRunValues& values) override {
    calls.emplace_back("after_run");
    Hook::after_run(context, values);
  }
  void end(SessionRef session) override {
    calls.emplace_back("end");
    Hook::end(session);
  }

  Calls calls;
};

class DerivedHooks : public ::testing::Test {
 protected:
  DerivedHooks() {
    script_.value("loss", [this] { return Tensor(loss_); });
    script_.value(
        "summary", [] { return Tensor(scalar_summary("loss", 2.0F)); }, DType::String);
    script_.graph().add_to_collection(graph_keys::kSavers, std::make_shared<Saver>());
  }

  template <class Hook>
  void expect_calls(Derived<Hook>& hook) {
    testing::run_steps(hook, {.steps = 2, .file_system = &disk_, .script = &script_});
    EXPECT_EQ(hook.calls, (Calls{"begin", "before_run", "after_run", "before_run", "after_run", "end"}));
  }

  testing::LogLines log_;
  testing::MemoryFileSystem disk_;
  testing::Script script_;
  float loss_ = 2;
};

TEST_F(DerivedHooks, ACheckpointSaverHookSaves) {
  Derived<CheckpointSaverHook> hook({.checkpoint_dir = "run", .save_steps = 1});
  expect_calls(hook);
  EXPECT_EQ(latest_checkpoint(disk_, "run"), "run/model.ckpt-2");
}

TEST_F(DerivedHooks, AnAsyncCheckpointSaverHookIsACheckpointSaverHook) {
  const std::unique_ptr<SessionRunHook> hook =
      std::make_unique<AsyncCheckpointSaverHook>(CheckpointSaverOptions{.checkpoint_dir = "run", .save_steps = 1});
  auto* const saver = dynamic_cast<CheckpointSaverHook*>(hook.get());
  ASSERT_NE(saver, nullptr);
  testing::run_steps(*saver, {.steps = 2, .file_system = &disk_, .script = &script_});
  EXPECT_EQ(saver->last_saved_step(), 2);
  EXPECT_EQ(latest_checkpoint(disk_, "run"), "run/model.ckpt-2");
}

TEST_F(DerivedHooks, ASummarySaverHookWritesSummaries) {
  Derived<SummarySaverHook> hook({.save_steps = 1, .output_dir = "run", .summary_op = "summary"});
  expect_calls(hook);
  EXPECT_THAT(disk_.list_directory("run"), Contains(HasSubstr("events.out.tfevents")));
}

TEST_F(DerivedHooks, AStepCounterHookCounts) {
  Derived<StepCounterHook> hook({.every_n_steps = 1, .output_dir = "run"});
  expect_calls(hook);
  EXPECT_EQ(hook.writes_to(), "run");
}

TEST_F(DerivedHooks, AFinalOpsHookHasItsValues) {
  Derived<FinalOpsHook> hook(FetchRefs("loss"));
  expect_calls(hook);
  EXPECT_EQ(hook.final_ops_value("loss"), Tensor(2.0F));
}

TEST_F(DerivedHooks, ANanTensorHookThrows) {
  Derived<NanTensorHook> hook(FetchRefs("loss"));
  expect_calls(hook);
  loss_ = std::numeric_limits<float>::quiet_NaN();
  hook.calls.clear();
  EXPECT_THROW(testing::run_steps(hook, {.file_system = &disk_, .script = &script_}), NanLossDuringTrainingError);
  EXPECT_EQ(hook.calls, (Calls{"begin", "before_run", "after_run"}));
}

TEST_F(DerivedHooks, ALoggingTensorHookLogs) {
  Derived<LoggingTensorHook> hook("loss", LoggingTensorHook::Options{.every_n_iter = 1});
  expect_calls(hook);
  EXPECT_EQ(log_.count("loss = 2"), 2U);
}

}  // namespace
}  // namespace trainhook
