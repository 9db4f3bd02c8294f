// SPDX-License-Identifier: Apache-2.0
/// @file
/// Converts the trace of a run to Chrome's trace format, and to the message that TensorBoard shows on the graph.
/// Source: TensorFlow's `timeline.py`.
#pragma once

#include <string>
#include <string_view>

#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/session/run_args.hpp>

namespace trainhook {

/// A traced run as JSON that chrome://tracing and ui.perfetto.dev open: a bar for each executed node, with its inputs.
/// Times are microseconds since the Unix epoch.
[[nodiscard]] TRAINHOOK_DECL std::string generate_chrome_trace_format(const RunMetadata& metadata, const Graph& graph);

namespace detail {

/// Whether a file may be one of `generate_chrome_trace_format`. For `write_file_atomically`.
[[nodiscard]] TRAINHOOK_DECL bool is_chrome_trace(std::string_view beginning);

/// A traced run as a serialized RunMetadata, for `FileWriter::add_run_metadata`.
[[nodiscard]] TRAINHOOK_DECL std::string as_run_metadata(const RunMetadata& metadata, const Graph& graph);

}  // namespace detail

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/hooks/text/impl/timeline.ipp>
#endif
