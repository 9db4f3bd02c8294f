// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/engine/profiler_hook.hpp>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/core/utf8.hpp>
#include <trainhook/events/file_writer.hpp>
#include <trainhook/events/file_writer_cache.hpp>
#include <trainhook/graph/global_step.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/hooks/text/tensor_text.hpp>
#include <trainhook/io/file_system.hpp>
#include <trainhook/io/path.hpp>
#include <trainhook/io/whole_file.hpp>
#include <trainhook/proto/message.hpp>
#include <trainhook/session/hook_services.hpp>

namespace trainhook::detail {

inline constexpr std::string_view kTracedDevice = "/device:CPU:0";

/// NodeExecStats; times in microseconds.
struct NodeExecStatsMessage {
  std::string node_name{};
  std::optional<std::int64_t> all_start_micros{};
  std::int64_t op_end_rel_micros = 0;
  std::int64_t all_end_rel_micros = 0;
  std::string timeline_label{};
  std::optional<std::int64_t> scheduled_micros{};
  std::uint32_t thread_id = 0;
};
template <>
inline constexpr auto kFields<NodeExecStatsMessage> =
    std::tuple(field(1, "node_name", &NodeExecStatsMessage::node_name),
               field(2, "all_start_micros", &NodeExecStatsMessage::all_start_micros),
               field(4, "op_end_rel_micros", &NodeExecStatsMessage::op_end_rel_micros),
               field(5, "all_end_rel_micros", &NodeExecStatsMessage::all_end_rel_micros),
               field(8, "timeline_label", &NodeExecStatsMessage::timeline_label),
               field(9, "scheduled_micros", &NodeExecStatsMessage::scheduled_micros),
               field(10, "thread_id", &NodeExecStatsMessage::thread_id));

struct DeviceStepStatsMessage {
  std::string_view device{};
  std::vector<NodeExecStatsMessage> node_stats{};
};
template <>
inline constexpr auto kFields<DeviceStepStatsMessage> = std::tuple(
    field(1, "device", &DeviceStepStatsMessage::device), field(2, "node_stats", &DeviceStepStatsMessage::node_stats));

struct StepStatsMessage {
  std::vector<DeviceStepStatsMessage> dev_stats{};
};
template <>
inline constexpr auto kFields<StepStatsMessage> = std::tuple(field(1, "dev_stats", &StepStatsMessage::dev_stats));

struct RunMetadataMessage {
  StepStatsMessage step_stats{};
};
template <>
inline constexpr auto kFields<RunMetadataMessage> = std::tuple(field(1, "step_stats", &RunMetadataMessage::step_stats));

/// An executed node as both formats need it.
struct TracedNode {
  const NodeStats* stats;
  std::int64_t duration;  // microseconds; a clock that was set back in the run makes no negative one
  std::size_t lane = 0;   // nodes of one lane do not overlap
  std::vector<Output> inputs{};
};

/// The nodes in the order of their start.
inline std::vector<TracedNode> traced_nodes(const RunMetadata& metadata, const Graph& graph) {
  std::vector<TracedNode> nodes;
  nodes.reserve(metadata.node_stats.size());
  for (const NodeStats& stats : metadata.node_stats) {
    TracedNode& node =
        nodes.emplace_back(TracedNode{&stats, (std::max)(stats.end_micros - stats.start_micros, std::int64_t{0})});
    const Operation operation = graph.find_operation(stats.node_name);  // none for what an engine does beside the graph
    if (operation.has_value()) node.inputs.assign(operation.node().inputs().begin(), operation.node().inputs().end());
  }
  std::stable_sort(nodes.begin(), nodes.end(), [](const TracedNode& a, const TracedNode& b) {
    return a.stats->start_micros < b.stats->start_micros;
  });
  std::vector<std::int64_t> lane_ends;
  for (TracedNode& node : nodes) {
    while (node.lane < lane_ends.size() && lane_ends[node.lane] > node.stats->start_micros) ++node.lane;
    if (node.lane == lane_ends.size()) lane_ends.push_back(0);
    lane_ends[node.lane] = node.stats->start_micros + node.duration;
  }
  return nodes;
}

inline constexpr std::string_view kTraceBeginning = R"({"traceEvents":)";

/// Whether a file may be one of `generate_chrome_trace_format`. For `write_file_atomically`.
inline bool is_chrome_trace(std::string_view beginning) {
  return beginning.starts_with(kTraceBeginning) || kTraceBeginning.starts_with(beginning);
}

/// `sum = AddV2(a, b)`
inline std::string timeline_label(const TracedNode& node) {
  std::string label = fmt::format("{} = {}(", node.stats->node_name, node.stats->op_type);
  for (std::size_t i = 0; i < node.inputs.size(); ++i)
    label += fmt::format("{}{}", i == 0 ? "" : ", ", input_name(node.inputs[i]));
  return label += ')';
}

std::string as_run_metadata(const RunMetadata& metadata, const Graph& graph) {
  DeviceStepStatsMessage device{.device = kTracedDevice};
  for (const TracedNode& node : traced_nodes(metadata, graph)) {
    device.node_stats.push_back({.node_name = utf8_text(node.stats->node_name, "the name of a traced node"),
                                 .all_start_micros = node.stats->start_micros,
                                 .op_end_rel_micros = node.duration,
                                 .all_end_rel_micros = node.duration,
                                 .timeline_label = utf8_text(timeline_label(node), "the label of a traced node"),
                                 .scheduled_micros = node.stats->start_micros,
                                 .thread_id = static_cast<std::uint32_t>(node.lane)});
  }
  RunMetadataMessage message;
  message.step_stats.dev_stats.push_back(std::move(device));
  return message_bytes(message);
}

}  // namespace trainhook::detail

namespace trainhook {

std::string generate_chrome_trace_format(const RunMetadata& metadata, const Graph& graph) {
  std::string json = fmt::format(R"({}[{{"name":"process_name","ph":"M","pid":1,"args":{{"name":"{} Compute"}}}})",
                                 detail::kTraceBeginning, detail::kTracedDevice);
  for (const detail::TracedNode& node : detail::traced_nodes(metadata, graph)) {
    const NodeStats& stats = *node.stats;
    const std::string type = detail::json_string(stats.op_type);
    json +=
        fmt::format(R"(,{{"ph":"X","cat":"Op","name":{},"pid":1,"tid":{},"ts":{},"dur":{},"args":{{"name":{},"op":{})",
                    type, node.lane, stats.start_micros, node.duration, detail::json_string(stats.node_name), type);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      json += fmt::format(R"(,"input{}":{})", i, detail::json_string(detail::input_name(node.inputs[i])));
    }
    json += "}}";
  }
  return json += "]}\n";
}

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
