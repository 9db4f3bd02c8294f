// SPDX-License-Identifier: Apache-2.0
/// @file
/// A session that is lost while a checkpoint is written in the background: it resumes from that checkpoint, whatever
/// reported the loss.
#include <trainhook/monitored/monitored_training_session.hpp>

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <trainhook/checkpoint/saver.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/data/dataset.hpp>
#include <trainhook/data/iterator.hpp>
#include <trainhook/hooks/async_checkpoint_saver_hook.hpp>
#include <trainhook/hooks/checkpoint_input_pipeline_hook.hpp>
#include <trainhook/hooks/row_logger_hook.hpp>
#include <trainhook/hooks/lambda_hook.hpp>
#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/data/loop_iterator.hpp>
#include <trainhook/loop/loop_session.hpp>
#include <trainhook/session/coordinator.hpp>
#include <trainhook/session/hook_services.hpp>
#include <trainhook/testing/faulty_file_system.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/memory_file_system.hpp>

namespace trainhook {
namespace {

constexpr std::int64_t kLastStep = 14;
constexpr std::int64_t kSavedStep = 10;  // the checkpoint that is being written when the session is lost

/// Once armed, holds the thread that writes that checkpoint, until a recovery waits for it or reads the disk.
class HeldSave {
 public:
  explicit HeldSave(testing::FaultyFileSystem& disk) {
    disk.set_callback([this](testing::FileOperation operation, const std::string& path) {
      const bool is_loop = std::this_thread::get_id() == loop_;
      if (!is_loop && operation == testing::FileOperation::CreateWritable &&
          path.find(fmt::format("model.ckpt-{}", kSavedStep)) != std::string::npos)
        hold();
      if (is_loop && operation == testing::FileOperation::ListDirectory) release();
    });
  }
  void arm() { is_released_ = false; }
  /// For the loop's thread: returns when the save has begun.
  void wait_until_held() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return is_held_; });
  }
  void release() {
    const std::scoped_lock lock(mutex_);
    if (is_held_) is_released_ = true;
    changed_.notify_all();
  }

 private:
  void hold() {
    std::unique_lock lock(mutex_);
    is_held_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return is_released_; });
  }

  std::thread::id loop_ = std::this_thread::get_id();
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_held_ = false;
  bool is_released_ = true;
};

/// Lets the save finish when the session waits for it.
class Releasing final : public SessionRunHook {
 public:
  explicit Releasing(HeldSave& save) : save_(&save) {}
  [[nodiscard]] HookPhase phase() const noexcept override { return HookPhase::Check; }
  void begin(Graph&) override {
    services().before_recovery([this] { save_->release(); });
  }

 private:
  HeldSave* save_;
};

/// Where the loss is reported, once.
enum class From { EarlierBeforeRun, LaterAfterRun, LaterBeforeRun, Step, Thread };

/// What is left of a training that loses its session in the first step after the one that is being saved.
struct Result {
  std::vector<std::int64_t> inputs;  // by step; what is trained again counts once
  std::string rows;
  std::int64_t sum = 0;
  std::vector<std::pair<std::int64_t, std::int64_t>> recoveries;  // lost at, resumed at
};

class Training {
 public:
  Result train(std::optional<From> from) {
    from_ = from;
    if (from) save_.arm();
    Result result;
    loop_.variable("sum", result.sum);
    Iterator& input = make_iterator(loop_, Dataset::range(100));
    loop_.value("input", [&] { return static_cast<float>(result.inputs.back()); });
    RetryPolicy retry{.require_checkpoint = true};
    retry.on_recovery = [&](const Recovery& recovery) {
      result.recoveries.emplace_back(recovery.lost_at.value_or(-1), recovery.resumed_at.value_or(-1));
    };
    auto session = monitored_training_session(
        loop_, {.checkpoint_dir = "run",
                .hooks = {losing(From::EarlierBeforeRun, HookPhase::Check), Releasing(save_),
                          CsvLoggerHook({"input"}, {.path = "run/rows.csv", .every_n_steps = 1}),
                          StopAtStepHook({.last_step = kLastStep}), CheckpointInputPipelineHook(), saver(),
                          losing(From::LaterAfterRun, HookPhase::Report)},
                .retry = std::move(retry),
                .file_system = &disk_});
    Element element;
    run_until_stop(session, [&] {
      session.run([&] {
        input.get_next(element);
        const auto number = element.at(0).scalar<std::int64_t>();
        result.inputs.resize(static_cast<std::size_t>(loop_.global_step()));
        result.inputs.push_back(number);
        result.sum += number;
        lose(From::Step);
      });
    });
    result.rows = memory_.contents("run/rows.csv");
    return result;
  }

 private:
  [[nodiscard]] std::shared_ptr<SessionRunHook> saver() {
    return std::make_shared<AsyncCheckpointSaverHook>(
        AsyncCheckpointSaverHook::Options{.checkpoint_dir = "run",
                                          .save_steps = 5,
                                          .saver = std::make_shared<Saver>(SaverOptions{.max_to_keep = 1}),
                                          .overlap = SaveOverlap::Wait});
  }
  [[nodiscard]] std::shared_ptr<SessionRunHook> losing(From after_run, HookPhase phase) {
    const From before_run = phase == HookPhase::Check ? From::EarlierBeforeRun : From::LaterBeforeRun;
    return std::make_shared<LambdaHook>(LambdaHook::Options{
        .after_create_session = [this](SessionRef, Coordinator& coordinator) { coordinator_ = &coordinator; },
        .before_run =
            [this, before_run](SessionRunContext& context) {
              step_ = context.global_step();
              lose(before_run);
              return SessionRunArgs{};
            },
        .after_run = [this, after_run](SessionRunContext&, const SessionRunValues&) { lose(after_run); },
        .phase = phase});
  }
  void lose(From where) {
    if (from_ == From::Thread && where == From::EarlierBeforeRun) return lose_in_thread();
    if (from_ != where || step_ != kSavedStep) return;
    from_.reset();
    save_.wait_until_held();
    throw UnavailableError("the session is gone");
  }
  void lose_in_thread() {
    if (step_ != kSavedStep) return;
    from_.reset();
    save_.wait_until_held();
    coordinator_->start_thread([](const std::stop_token&) { throw AbortedError("the session is gone"); });
    coordinator_->wait_for_stop();
  }

  const testing::LogLines quiet_;
  testing::MemoryFileSystem memory_;
  testing::FaultyFileSystem disk_{memory_};
  HeldSave save_{disk_};
  LoopSession loop_;
  std::optional<From> from_;
  std::int64_t step_ = 0;
  Coordinator* coordinator_ = nullptr;
};

TEST(Recovery, ResumesFromTheCheckpointThatIsBeingWrittenWhateverReportsTheLoss) {
  const Result whole = [] {
    Result result = Training().train(std::nullopt);
    result.recoveries.emplace_back(kSavedStep, kSavedStep);
    return result;
  }();
  ASSERT_EQ(whole.inputs.size(), static_cast<std::size_t>(kLastStep));
  for (const From from :
       {From::EarlierBeforeRun, From::LaterAfterRun, From::LaterBeforeRun, From::Step, From::Thread}) {
    SCOPED_TRACE(static_cast<int>(from));
    Result lost = Training().train(from);
    ASSERT_EQ(lost.recoveries.size(), 1U);
    lost.recoveries[0].first = kSavedStep;  // it may be one more
    EXPECT_EQ(lost.inputs, whole.inputs);
    EXPECT_EQ(lost.rows, whole.rows);
    EXPECT_EQ(lost.sum, whole.sum);
    EXPECT_EQ(lost.recoveries, whole.recoveries);
  }
}

}  // namespace
}  // namespace trainhook
