// SPDX-License-Identifier: Apache-2.0
/// @file
/// SummarySaverHook: writes summaries for TensorBoard now and then.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <trainhook/creation/scaffold.hpp>
#include <trainhook/events/file_writers.hpp>
#include <trainhook/hooks/fetch_ref.hpp>
#include <trainhook/hooks/second_or_step_timer.hpp>
#include <trainhook/session/session_run_hook.hpp>

namespace trainhook {

/// Fetches summaries along with a run whenever the period is over, the first run included, and writes them at the step that the run
/// reached, each step once. They are computed only then, with the feeds of that run. Each time training starts or goes on, a START record
/// tells TensorBoard to drop what an interrupted run wrote behind the checkpoint; and what the next summary's step would have been is part
/// of the checkpoint, so that a resumed run writes the steps of one that was never interrupted. Source: TensorFlow's `SummarySaverHook`.
class SummarySaverHook final : public SessionRunHook {
 public:
  struct Options {
    std::optional<std::int64_t> save_steps{};
    std::optional<Duration> save_secs{};
    std::string output_dir{};                      ///< events go to the session's writer of this directory,
    std::shared_ptr<FileWriter> summary_writer{};  ///< or here; without either nothing is computed or written
    std::shared_ptr<const Scaffold> scaffold{};    ///< whose `summary_op` is taken, if it has one
    FetchRefs summary_op{};                        ///< or these: one or several string tensors of serialized summaries
  };

  /// @throws InvalidArgumentError unless exactly one of `scaffold` and `summary_op` and exactly one period above zero are given.
  explicit SummarySaverHook(Options options)
      : options_(std::move(options)),
        timer_({.every_secs = options_.save_secs, .every_steps = options_.save_steps}, "SummarySaverHook", "save_secs", "save_steps") {
    if ((options_.scaffold != nullptr) == !options_.summary_op.empty()) {
      throw InvalidArgumentError("SummarySaverHook: exactly one of scaffold and summary_op must be given, not ",
                                 options_.scaffold != nullptr ? "both" : "neither");
    }
    if (options_.summary_writer != nullptr && !options_.output_dir.empty()) {
      throw InvalidArgumentError("SummarySaverHook: output_dir '", options_.output_dir,
                                 "' and summary_writer are both given; give one of them");
    }
  }

  void begin(Graph& graph) override {
    global_step_ = detail::require_global_step(graph, "SummarySaverHook");
    summaries_ = options_.summary_op.resolve_outputs(graph, "SummarySaverHook");
    for (const Fetch& fetch : summaries_) check_summary(fetch);
    writer_ = options_.summary_writer.get();
    if (!options_.output_dir.empty()) writer_ = &environment().writers().at(options_.output_dir);
    timer_.reset();
    restored_timer_ = false;
    next_step_.reset();
    start_step_.reset();
  }

  void after_create_session(SessionRef session, Coordinator& /*coordinator*/) override {
    if (options_.scaffold != nullptr) {
      const Output merged = options_.scaffold->summary_op();
      summaries_ = merged.has_value() ? FetchList(merged) : FetchList();
    }
    if (!std::exchange(restored_timer_, false)) timer_.reset();
    start_step_ = next_step_ = read_global_step(session, global_step_) + 1;
  }

  /// The START record waits for the first run: a training that is already at its end leaves no file behind.
  SessionRunArgs before_run(SessionRunContext& context) override {
    if (writer_ == nullptr) return {};
    if (start_step_) {
      writer_->add_session_log({.status = SessionLog::Start}, *start_step_);
      start_step_.reset();
    }
    due_ = !summaries_.empty() && (!next_step_ || timer_.should_trigger_for_step(*next_step_, context));
    if (!due_) return {};
    return {.fetches = summaries_};
  }

  void after_run(SessionRunContext& context, const SessionRunValues& values) override {
    if (writer_ == nullptr) return;
    const std::int64_t step = context.global_step();
    next_step_ = step + 1;
    if (!std::exchange(due_, false) || timer_.last_triggered_step() == step) return;
    timer_.update_last_triggered_step(step, context);
    for (const Tensor& summary : values.results) {
      for (const std::string& bytes : summary.data<std::string>()) writer_->add_summary(bytes, step);
    }
  }

  void on_run_failed(SessionRunContext& /*context*/, const std::exception_ptr& /*error*/) override { due_ = false; }

  void end(SessionRef /*session*/) override {
    if (writer_ != nullptr) writer_->flush();
  }

  [[nodiscard]] StateValues save_state() override {
    StateValues state;
    if (!timer_.uses_seconds() && timer_.last_triggered_step()) state.set("last_step", Tensor(*timer_.last_triggered_step()));
    return state;
  }
  void load_state(const StateValues& state) override {
    const Tensor* last_step = state.find("last_step");
    if (last_step == nullptr || timer_.uses_seconds()) return;
    timer_.set_last_triggered_step(last_step->scalar<std::int64_t>());
    restored_timer_ = true;
  }

 private:
  static void check_summary(const Fetch& fetch) {
    const OutputSpec& spec = fetch.node().outputs()[static_cast<std::size_t>(fetch.index())];
    if (spec.dtype == DType::String) return;
    throw InvalidArgumentError("SummarySaverHook: summary_op '", fetch.node().name(), "' is ", dtype_name(spec.dtype),
                               ", but a summary is a string tensor such as summary::scalar() gives");
  }

  Options options_;
  SecondOrStepTimer timer_;
  Variable global_step_;
  FileWriter* writer_ = nullptr;
  FetchList summaries_;
  std::optional<std::int64_t> next_step_;   // that the coming run will probably reach
  std::optional<std::int64_t> start_step_;  // of a START record that is still to be written
  bool due_ = false;
  bool restored_timer_ = false;
};

}  // namespace trainhook
