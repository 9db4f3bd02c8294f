// SPDX-License-Identifier: Apache-2.0
/// @file
/// SummarySaverHook: writes summaries for TensorBoard periodically.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>

#include <trainhook/core/duration.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/variable.hpp>
#include <trainhook/session/fetch.hpp>
#include <trainhook/session/fetch_refs.hpp>
#include <trainhook/session/second_or_step_timer.hpp>
#include <trainhook/session/session_run_hook.hpp>

namespace trainhook {

class FileWriter;
class Scaffold;

/// Writes summaries at the first run and then at every period, for the step that the run reached and at most once per
/// step. They are computed only in these runs, with the run's feeds. Whenever training starts or resumes, a START
/// record tells TensorBoard to drop what an interrupted run wrote after the checkpoint. The timer is part of the
/// checkpoint, so a resumed run writes summaries at the same steps as an uninterrupted one. Source: TensorFlow's
/// `SummarySaverHook`.
class SummarySaverHook : public SessionRunHook {
 public:
  struct Options {
    std::optional<std::int64_t> save_steps{};
    OptionalDuration save_secs{};
    std::string output_dir{};                      ///< for event files; empty, and no writer: does nothing
    std::shared_ptr<FileWriter> summary_writer{};  ///< instead of `output_dir`, which is then ignored
    std::shared_ptr<const Scaffold> scaffold{};    ///< provides the `summary_op`
    FetchRefs summary_op{};                        ///< instead of a scaffold: string tensors of serialized summaries
    std::string name{};                            ///< of its state in checkpoints; empty: from the `summary_op`
  };

  /// @throws InvalidArgumentError unless exactly one of `scaffold` and `summary_op`, and exactly one positive period,
  /// are given.
  TRAINHOOK_DECL explicit SummarySaverHook(Options options);
  TRAINHOOK_DECL SummarySaverHook(SummarySaverHook&& other) noexcept;
  TRAINHOOK_DECL ~SummarySaverHook() override;

  [[nodiscard]] TRAINHOOK_DECL std::string name() const override;
  [[nodiscard]] TRAINHOOK_DECL std::string writes_to() const override;
  TRAINHOOK_DECL void begin(Graph& graph) override;
  TRAINHOOK_DECL void after_create_session(SessionRef session, Coordinator& coordinator) override;

  TRAINHOOK_DECL SessionRunArgs before_run(SessionRunContext& context) override;

  /// Writes the START record here, so that a session without a run creates no file.
  TRAINHOOK_DECL void after_run(SessionRunContext& context, const SessionRunValues& values) override;

  TRAINHOOK_DECL void on_run_failed(SessionRunContext& context, const std::exception_ptr& error) override;
  TRAINHOOK_DECL void end(SessionRef session) override;

 private:
  Options options_;
  SecondOrStepTimer timer_;
  Variable global_step_;
  FileWriter* writer_ = nullptr;
  FetchList summaries_;
  std::optional<std::int64_t> next_step_;   // which the next run will probably reach
  std::optional<std::int64_t> start_step_;  // of a START record that is not written yet
  bool due_ = false;
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/hooks/impl/summary_saver_hook.ipp>
#endif
