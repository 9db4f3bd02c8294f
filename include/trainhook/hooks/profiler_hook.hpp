// SPDX-License-Identifier: Apache-2.0
/// @file
/// ProfilerHook: shows where the time of a step goes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <trainhook/events/file_writers.hpp>
#include <trainhook/hooks/second_or_step_timer.hpp>
#include <trainhook/hooks/timeline.hpp>
#include <trainhook/io/path.hpp>
#include <trainhook/io/whole_file.hpp>
#include <trainhook/session/environment.hpp>
#include <trainhook/session/session_run_hook.hpp>

namespace trainhook {

/// Traces a run whenever the period is over, a session's first run never. Each gives `timeline-<step>.json` for chrome://tracing and
/// ui.perfetto.dev, and run metadata `step_<step>` in the event file, which TensorBoard shows over the graph. A step that is profiled again
/// after a recovery replaces the file and gets a tag of its own. Source: TensorFlow's `ProfilerHook`.
class ProfilerHook final : public SessionRunHook {
 public:
  struct Options {
    std::optional<std::int64_t> save_steps{};
    std::optional<Duration> save_secs{};
    std::string output_dir{};  ///< where timelines and events go; empty: the current directory
  };

  /// @throws InvalidArgumentError unless exactly one period above zero is given.
  explicit ProfilerHook(Options options)
      : output_dir_(options.output_dir.empty() ? "." : std::move(options.output_dir)),
        timer_({.every_secs = options.save_secs, .every_steps = options.save_steps}, "ProfilerHook", "save_secs", "save_steps") {}

  void begin(Graph& graph) override {
    static_cast<void>(detail::require_global_step(graph, "ProfilerHook"));
    graph_ = &graph;
    writer_ = &environment().writers().at(output_dir_);
  }

  void after_create_session(SessionRef /*session*/, Coordinator& /*coordinator*/) override { next_step_.reset(); }

  SessionRunArgs before_run(SessionRunContext& context) override {
    if (!next_step_) timer_.update_last_triggered_step(context.global_step(), context);  // the period begins with the session's first run
    due_ = next_step_ && timer_.should_trigger_for_step(*next_step_, context);
    if (!due_) return {};
    return {.options = RunOptions{.trace_level = TraceLevel::Full}};
  }

  void after_run(SessionRunContext& context, const SessionRunValues& values) override {
    const std::int64_t step = context.global_step();
    next_step_ = step + 1;
    if (!due_) return;
    timer_.update_last_triggered_step(step, context);
    write(step, *values.run_metadata);
  }

  void end(SessionRef /*session*/) override { writer_->flush(); }

 private:
  void write(std::int64_t step, const RunMetadata& metadata) {
    FileSystem& disk = environment().file_system();
    disk.make_directories(output_dir_);
    write_file_atomically(disk, join_path(output_dir_, str_cat("timeline-", step, ".json")),
                          generate_chrome_trace_format(metadata, *graph_));
    std::string tag = str_cat("step_", step);
    for (int again = 1; writer_->has_run_metadata(tag); ++again) tag = str_cat("step_", step, "_", again);
    writer_->add_run_metadata(as_run_metadata(metadata, *graph_), tag, step);
  }

  std::string output_dir_;
  SecondOrStepTimer timer_;
  const Graph* graph_ = nullptr;
  FileWriter* writer_ = nullptr;
  std::optional<std::int64_t> next_step_;  // that the coming run will probably reach
  bool due_ = false;
};

}  // namespace trainhook
