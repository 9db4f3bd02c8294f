// SPDX-License-Identifier: Apache-2.0
/// @file
/// Imports queue runners.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/model/queue_runner_def.hpp>

namespace trainhook::detail {

/// Adds the queue runners of serialized QueueRunnerDefs, whose nodes are in the graph under `prefix`. Skips those with
/// a node that is missing or cannot run, with a warning that says why.
/// @param source names the file
TRAINHOOK_DECL void import_queue_runners(Graph& graph, const std::vector<std::string>& messages,
                                         const std::string& prefix, std::string_view source);

/// Records which imported queues have no queue runner, so that nothing fills them, and logs a warning with their names.
TRAINHOOK_DECL void note_unfilled_queues(Graph& graph, std::span<const Operation> imported, std::string_view source);

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/compat/impl/import_queue_runners.ipp>
#endif
