// SPDX-License-Identifier: Apache-2.0
/// @file
/// SummarySaverHook: writes summaries for TensorBoard now and then.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <trainhook/core/clock.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/saveable.hpp>
#include <trainhook/events/file_writer.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/variable.hpp>
#include <trainhook/hooks/fetch_ref.hpp>
#include <trainhook/hooks/scaffold.hpp>
#include <trainhook/hooks/second_or_step_timer.hpp>
#include <trainhook/session/run_args.hpp>
#include <trainhook/session/run_context.hpp>
#include <trainhook/session/session_ref.hpp>
#include <trainhook/session/session_run_hook.hpp>

namespace trainhook {

/// Fetches summaries along with a run whenever the period is over, the first run included, and writes them at the step
/// that the run reached, each step once. They are computed only then, with the feeds of that run. Each time training
/// starts or goes on, a START record tells TensorBoard to drop what an interrupted run wrote behind the checkpoint; and
/// what the next summary's step would have been is part of the checkpoint, so that a resumed run writes the steps of
/// one that was never interrupted. Source: TensorFlow's `SummarySaverHook`.
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

  /// @throws InvalidArgumentError unless exactly one of `scaffold` and `summary_op` and exactly one period above zero
  /// are given.
  TRAINHOOK_DECL explicit SummarySaverHook(Options options);

  TRAINHOOK_DECL void begin(Graph& graph) override;
  TRAINHOOK_DECL void after_create_session(SessionRef session, Coordinator& /*coordinator*/) override;

  /// The START record waits for the first run: a training that is already at its end leaves no file behind.
  TRAINHOOK_DECL SessionRunArgs before_run(SessionRunContext& context) override;

  TRAINHOOK_DECL void after_run(SessionRunContext& context, const SessionRunValues& values) override;

  void on_run_failed(SessionRunContext& /*context*/, const std::exception_ptr& /*error*/) override { due_ = false; }

  void end(SessionRef /*session*/) override {
    if (writer_ != nullptr) writer_->flush();
  }

  [[nodiscard]] TRAINHOOK_DECL StateValues save_state() override;
  TRAINHOOK_DECL void load_state(const StateValues& state) override;

 private:
  TRAINHOOK_DECL static void check_summary(const Fetch& fetch);

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

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/hooks/impl/summary_saver_hook.ipp>
#endif
