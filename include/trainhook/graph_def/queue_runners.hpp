// SPDX-License-Identifier: Apache-2.0
/// @file
/// Imports and exports queue runners.
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

/// Adds the queue runners of serialized QueueRunnerDefs, whose nodes are in the graph under `prefix`. Skips those with
/// a node that is missing or cannot run, with a warning that says why.
/// @param source names the file
/// @param op_defs as in ImportGraphDefOptions
TRAINHOOK_DECL void import_queue_runners(Graph& graph, const std::vector<std::string>& messages,
                                         const std::string& prefix, std::string_view source,
                                         std::span<const OpDef> op_defs);

/// Records which imported queues have no queue runner, so that nothing fills them, and logs a warning with their names.
TRAINHOOK_DECL void note_unfilled_queues(Graph& graph, std::span<const Operation> imported, std::string_view source);

/// Serializes a QueueRunnerDef.
[[nodiscard]] TRAINHOOK_DECL std::string export_queue_runner(const QueueRunnerDef& runner);

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/graph_def/impl/queue_runners.ipp>
#endif
