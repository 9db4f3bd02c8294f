// SPDX-License-Identifier: Apache-2.0
/// @file
/// Queue runners of graphs from files.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/graph/op_def.hpp>
#include <trainhook/graph/queue_runner_def.hpp>

namespace trainhook::detail {

/// Adds the queue runners that serialized QueueRunnerDefs describe, whose nodes are in the graph below `prefix`. Those
/// that need a node that is not there or cannot run are left out, with a warning that says why.
/// @param source names the file
/// @param op_defs as in ImportGraphDefOptions
TRAINHOOK_DECL void import_queue_runners(Graph& graph, const std::vector<std::string>& messages,
                                         const std::string& prefix, std::string_view source,
                                         std::span<const OpDef> op_defs);

/// Notes that nothing fills those of the imported queues that no queue runner is for, and logs a warning that names
/// them.
TRAINHOOK_DECL void note_unfilled_queues(Graph& graph, std::span<const Operation> imported, std::string_view source);

/// The serialized QueueRunnerDef.
[[nodiscard]] TRAINHOOK_DECL std::string export_queue_runner(const QueueRunnerDef& runner);

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/graph_def/impl/queue_runners.ipp>
#endif
