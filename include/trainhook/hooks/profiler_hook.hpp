// SPDX-License-Identifier: Apache-2.0
/// @file
/// ProfilerHook: shows where the time of a step goes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <trainhook/core/clock.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/events/file_writer.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/hooks/second_or_step_timer.hpp>
#include <trainhook/session/run_args.hpp>
#include <trainhook/session/run_context.hpp>
#include <trainhook/session/session_ref.hpp>
#include <trainhook/session/session_run_hook.hpp>

namespace trainhook {

/// Traces a run whenever the period is over, a session's first run never. Each gives `timeline-<step>.json` for
/// chrome://tracing and ui.perfetto.dev, and run metadata `step_<step>` in the event file, which TensorBoard shows over
/// the graph. A step that is profiled again after a recovery replaces the file and gets a tag of its own. Source:
/// TensorFlow's `ProfilerHook`.
class ProfilerHook final : public SessionRunHook {
 public:
  struct Options {
    std::optional<std::int64_t> save_steps{};
    std::optional<Duration> save_secs{};
    std::string output_dir{};  ///< where timelines and events go; empty: the current directory
  };

  /// @throws InvalidArgumentError unless exactly one period above zero is given.
  TRAINHOOK_DECL explicit ProfilerHook(Options options);

  TRAINHOOK_DECL void begin(Graph& graph) override;

  void after_create_session(SessionRef /*session*/, Coordinator& /*coordinator*/) override { next_step_.reset(); }

  TRAINHOOK_DECL SessionRunArgs before_run(SessionRunContext& context) override;
  TRAINHOOK_DECL void after_run(SessionRunContext& context, const SessionRunValues& values) override;

  void end(SessionRef /*session*/) override { writer_->flush(); }

 private:
  TRAINHOOK_DECL void write(std::int64_t step, const RunMetadata& metadata);

  std::string output_dir_;
  SecondOrStepTimer timer_;
  const Graph* graph_ = nullptr;
  FileWriter* writer_ = nullptr;
  std::optional<std::int64_t> next_step_;  // that the coming run will probably reach
  bool due_ = false;
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/hooks/impl/profiler_hook.ipp>
#endif
