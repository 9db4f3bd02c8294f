// SPDX-License-Identifier: Apache-2.0
/// @file
/// Summaries: nodes whose value is a serialized `Summary` for TensorBoard.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/graph/op_def.hpp>

namespace trainhook::summary {
namespace detail {

using namespace trainhook::detail;

/// HistogramSummary, ImageSummary, MergeSummary, ScalarSummary, TensorSummaryV2.
[[nodiscard]] TRAINHOOK_DECL OpFamily summary_ops() noexcept;

/// The collection that marks the graph of a LoopSession.
inline constexpr std::string_view kTagsOfALoop = "tags_of_a_loop";

/// Of a new summary.
struct SummaryNames {
  std::string node{};  ///< the given name in the current name scope, made unique among nodes
  std::string tag{};   ///< the same; in the graph of a LoopSession, made unique among summaries only
};

/// Characters that a node's name must not contain are replaced.
[[nodiscard]] TRAINHOOK_DECL SummaryNames new_summary_names(Graph& graph, std::string_view given_name);

/// Adds a summary; `more` are further inputs.
TRAINHOOK_DECL Output add_summary(const OpDef& def, std::string_view given_name, std::string_view tag_input,
                                  const Output& values, Attrs attrs,
                                  const std::vector<std::pair<std::string_view, Tensor>>& more = {});

}  // namespace detail

// The tag in TensorBoard is the name of the summary's node: `name` in the current name scope, with the suffix `_1`,
// `_2`, ... if a node or scope has that name already. A summary `w` of a variable `w` has the tag `w_1`, as in
// TensorFlow 1. In the graph of a LoopSession it has the tag `w`: only another summary can have taken it.

/// The value of a scalar, in the chart `name`. Source: `tf.compat.v1.summary.scalar`.
TRAINHOOK_DECL Output scalar(std::string_view name, Output value);

/// A histogram of the elements of `values`. Source: `tf.compat.v1.summary.histogram`.
TRAINHOOK_DECL Output histogram(std::string_view name, Output values);

/// The first `max_outputs` of `images`, uint8 or floating [batch, height, width, 1 | 3 | 4]. Source:
/// `tf.compat.v1.summary.image`.
TRAINHOOK_DECL Output image(std::string_view name, Output images, std::int64_t max_outputs = 3);

/// Strings for the text dashboard. Source: `tf.compat.v1.summary.text`.
TRAINHOOK_DECL Output text(std::string_view name, Output strings);

/// Joins all `inputs` into one summary. Source: `tf.compat.v1.summary.merge`.
TRAINHOOK_DECL Output merge(const std::vector<Output>& inputs, std::string_view name = "Merge");

/// Joins all summaries of the graph into one; nothing if it has none. Source: `tf.compat.v1.summary.merge_all`.
TRAINHOOK_DECL std::optional<Output> merge_all(Graph& graph, std::string_view key = graph_keys::kSummaries);

}  // namespace trainhook::summary

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/graph/ops/impl/summary.ipp>
#endif
