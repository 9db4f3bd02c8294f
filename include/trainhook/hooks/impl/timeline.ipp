// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of timeline.hpp.
#pragma once

#include <trainhook/hooks/timeline.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include <trainhook/graph/node.hpp>
#include <trainhook/hooks/tensor_text.hpp>
#include <trainhook/proto/wire.hpp>

namespace trainhook::detail {

inline constexpr std::string_view kTracedDevice = "/device:CPU:0";

struct RunMetadataField {
  static constexpr std::uint32_t kStepStats = 1;
};

struct StepStatsField {
  static constexpr std::uint32_t kDevStats = 1;
};

struct DeviceStepStatsField {
  static constexpr std::uint32_t kDevice = 1;
  static constexpr std::uint32_t kNodeStats = 2;
};

struct NodeExecStatsField {
  static constexpr std::uint32_t kNodeName = 1;
  static constexpr std::uint32_t kAllStartMicros = 2;
  static constexpr std::uint32_t kOpEndRelMicros = 4;
  static constexpr std::uint32_t kAllEndRelMicros = 5;
  static constexpr std::uint32_t kTimelineLabel = 8;
  static constexpr std::uint32_t kScheduledMicros = 9;
  static constexpr std::uint32_t kThreadId = 10;
};

/// An executed node as both formats need it.
struct TracedNode {
  const NodeStats* stats;
  std::int64_t duration;  // microseconds; a clock that was set back in the run makes no negative one
  std::size_t lane = 0;   // nodes of one lane do not overlap
  std::vector<Output> inputs{};
};

/// The nodes in the order of their start.
TRAINHOOK_DECL std::vector<TracedNode> traced_nodes(const RunMetadata& metadata, const Graph& graph) {
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

/// `sum = AddV2(a, b)`
TRAINHOOK_DECL std::string timeline_label(const TracedNode& node) {
  std::string label = fmt::format("{} = {}(", node.stats->node_name, node.stats->op_type);
  for (std::size_t i = 0; i < node.inputs.size(); ++i)
    label += fmt::format("{}{}", i == 0 ? "" : ", ", input_name(node.inputs[i]));
  return label += ')';
}

}  // namespace trainhook::detail

namespace trainhook {

TRAINHOOK_DECL std::string generate_chrome_trace_format(const RunMetadata& metadata, const Graph& graph) {
  std::string json =
      fmt::format(R"({{"traceEvents":[{{"name":"process_name","ph":"M","pid":1,"args":{{"name":"{} Compute"}}}})",
                  detail::kTracedDevice);
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

TRAINHOOK_DECL std::string detail::as_run_metadata(const RunMetadata& metadata, const Graph& graph) {
  std::string bytes;
  {  // a message is complete when its writer is gone
    detail::WireWriter message(bytes);
    detail::WireWriter step_stats(message, detail::RunMetadataField::kStepStats);
    detail::WireWriter device(step_stats, detail::StepStatsField::kDevStats);
    device.add_string(detail::DeviceStepStatsField::kDevice, detail::kTracedDevice.data(),
                      detail::kTracedDevice.size());
    for (const detail::TracedNode& node : detail::traced_nodes(metadata, graph)) {
      using Field = detail::NodeExecStatsField;
      detail::WireWriter stats(device, detail::DeviceStepStatsField::kNodeStats);
      stats.add_string(Field::kNodeName, node.stats->node_name);
      stats.add_int64(Field::kAllStartMicros, node.stats->start_micros);
      if (node.duration != 0) {
        stats.add_int64(Field::kOpEndRelMicros, node.duration);
        stats.add_int64(Field::kAllEndRelMicros, node.duration);
      }
      stats.add_string(Field::kTimelineLabel, detail::timeline_label(node));
      stats.add_int64(Field::kScheduledMicros, node.stats->start_micros);
      if (node.lane != 0) stats.add_uint32(Field::kThreadId, static_cast<std::uint32_t>(node.lane));
    }
  }
  return bytes;
}

}  // namespace trainhook
