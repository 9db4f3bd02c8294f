// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/hooks/profiler_hook.hpp>

#include <utility>

#include <fmt/format.h>

#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/events/file_writer.hpp>
#include <trainhook/events/file_writer_cache.hpp>
#include <trainhook/graph/global_step.hpp>
#include <trainhook/hooks/text/timeline.hpp>
#include <trainhook/io/file_system.hpp>
#include <trainhook/io/path.hpp>
#include <trainhook/io/whole_file.hpp>
#include <trainhook/session/hook_services.hpp>

namespace trainhook {

ProfilerHook::ProfilerHook(Options options)
    : output_dir_(options.output_dir.empty() ? "." : std::move(options.output_dir)),
      name_(std::move(options.name)),
      timer_(*this, {.every_secs = options.save_secs, .every_steps = options.save_steps}, "ProfilerHook", "save_secs",
             "save_steps") {}

void ProfilerHook::begin(Graph& graph) {
  static_cast<void>(detail::require_global_step(graph, "ProfilerHook"));
  graph_ = &graph;
  writer_ = &services().writers().at(output_dir_);
}

void ProfilerHook::after_create_session(SessionRef /*session*/, Coordinator& /*coordinator*/) {
  timer_.reset_unless_restored();
  next_step_.reset();
}

void ProfilerHook::end(SessionRef /*session*/) {
  if (has_traced_ == false) {
    log_warning(
        "ProfilerHook: no run was traced, since the training ended before the first period did; give a smaller {}",
        timer_.uses_seconds() ? "save_secs" : "save_steps");
  }
  writer_->flush();
}

SessionRunArgs ProfilerHook::before_run(SessionRunContext& context) {
  if (!next_step_) next_step_ = context.global_step() + 1;
  const bool begins = !timer_.last_triggered_step();  // the period begins with the first run
  if (begins) {
    timer_.update_last_triggered_step(*next_step_ - 1, context);
    has_traced_ = has_traced_.value_or(false);
  }
  due_ = !begins && timer_.should_trigger_for_step(*next_step_, context);
  if (!due_) return {};
  return {.options = RunOptions{.trace_level = TraceLevel::Full}};
}

void ProfilerHook::after_run(SessionRunContext& context, const SessionRunValues& values) {
  const std::int64_t step = context.global_step();
  next_step_ = step + 1;
  if (!due_) return;
  timer_.update_last_triggered_step(step, context);
  has_traced_ = true;
  write(step, *values.run_metadata);
}

void ProfilerHook::write(std::int64_t step, const RunMetadata& metadata) {
  FileSystem& disk = services().file_system();
  const std::string timeline = join_path(output_dir_, fmt::format("timeline-{}.json", step));
  try {
    log_info("Saving timeline for {} into '{}'.", step, timeline);
    disk.make_directories(output_dir_);
    write_file_atomically(disk, timeline, generate_chrome_trace_format(metadata, *graph_), &detail::is_chrome_trace);
  } catch (const Error& error) {
    if (writer_->on_error() == EventErrors::Throw) throw;
    log_warning("ProfilerHook: {} could not be written: {}", timeline, error);
  }
  std::string tag = fmt::format("step_{}", step);
  for (int again = 1; writer_->has_run_metadata(tag); ++again) tag = fmt::format("step_{}_{}", step, again);
  writer_->add_run_metadata(detail::as_run_metadata(metadata, *graph_), tag, step);
}

}  // namespace trainhook
