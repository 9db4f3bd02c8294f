// SPDX-License-Identifier: Apache-2.0
/// @file
/// When each node of a traced run was executed, for people: in Chrome's trace format, and as the message that
/// TensorBoard shows over the graph. Source: TensorFlow's `timeline.py`.
#pragma once

#include <string>

#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/session/run_args.hpp>

namespace trainhook {

/// A traced run as JSON that chrome://tracing and ui.perfetto.dev open: a bar for each node that was executed, with its
/// inputs. Times are microseconds since the Unix epoch.
[[nodiscard]] TRAINHOOK_DECL std::string generate_chrome_trace_format(const RunMetadata& metadata, const Graph& graph);

namespace detail {

/// A traced run as a serialized RunMetadata, for `FileWriter::add_run_metadata`.
[[nodiscard]] TRAINHOOK_DECL std::string as_run_metadata(const RunMetadata& metadata, const Graph& graph);

}  // namespace detail

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/hooks/impl/timeline.ipp>
#endif
