// SPDX-License-Identifier: Apache-2.0
/// @file
/// ProfilerHook: writes timelines of runs; generate_chrome_trace_format: a timeline as JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <trainhook/core/duration.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/session/second_or_step_timer.hpp>
#include <trainhook/session/session_run_hook.hpp>

namespace trainhook {

class FileWriter;

/// A traced run as JSON that chrome://tracing and ui.perfetto.dev open: a bar for each executed node, with its inputs.
/// Times are microseconds since the Unix epoch. Source: TensorFlow's `timeline.py`.
[[nodiscard]] TRAINHOOK_DECL std::string generate_chrome_trace_format(const RunMetadata& metadata, const Graph& graph);

namespace detail {

/// A traced run as a serialized RunMetadata, for `FileWriter::add_run_metadata`.
[[nodiscard]] TRAINHOOK_DECL std::string as_run_metadata(const RunMetadata& metadata, const Graph& graph);

}  // namespace detail

/// Traces a run at every period, but never a session's first run. Writes each trace to `timeline-<step>.json`, for
/// chrome://tracing and ui.perfetto.dev, and as run metadata `step_<step>` to the event file, for TensorBoard's graph.
/// If a step is traced again after a recovery, replaces the file and uses a new tag for the metadata. Source:
/// TensorFlow's `ProfilerHook`.
class ProfilerHook final : public SessionRunHook {
 public:
  struct Options {
    std::optional<std::int64_t> save_steps{};
    OptionalDuration save_secs{};
    std::string output_dir{};  ///< for timelines and events; empty: the current directory
    std::string name{};        ///< of its state in checkpoints; set it if there are several such hooks
  };

  /// @throws InvalidArgumentError unless exactly one positive period is given.
  TRAINHOOK_DECL explicit ProfilerHook(Options options);
  ProfilerHook(ProfilerHook&& other) noexcept = default;

  [[nodiscard]] std::string name() const override { return name_; }
  [[nodiscard]] std::string writes_to() const override { return output_dir_; }
  TRAINHOOK_DECL void begin(Graph& graph) override;

  TRAINHOOK_DECL void after_create_session(SessionRef session, Coordinator& coordinator) override;

  TRAINHOOK_DECL SessionRunArgs before_run(SessionRunContext& context) override;
  TRAINHOOK_DECL void after_run(SessionRunContext& context, const SessionRunValues& values) override;

  /// Also logs a warning if no run was traced because the program ended before the first period.
  TRAINHOOK_DECL void end(SessionRef session) override;

 private:
  TRAINHOOK_DECL void write(std::int64_t step, const RunMetadata& metadata);

  std::string output_dir_;
  std::string name_;
  SecondOrStepTimer timer_;
  const Graph* graph_ = nullptr;
  FileWriter* writer_ = nullptr;
  std::optional<std::int64_t> next_step_;  // which the next run will probably reach
  std::optional<bool> has_traced_;         // since the first period began; nothing if in another process
  bool due_ = false;
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/engine/impl/profiler_hook.ipp>
#endif
