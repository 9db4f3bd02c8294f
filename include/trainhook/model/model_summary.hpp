// SPDX-License-Identifier: Apache-2.0
/// @file
/// model_summary: the variables of a model as a table.
#pragma once

#include <string>

#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/graph.hpp>

namespace trainhook {

/// Returns a table of the trainable variables: a line each with name, shape, number of elements and dtype, and the
/// total. Another line counts the global variables that are not trained: steps, slots, moving means. Source:
/// `tf.contrib.slim.model_analyzer.analyze_vars`.
[[nodiscard]] TRAINHOOK_DECL std::string model_summary(const Graph& graph);

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/model/impl/model_summary.ipp>
#endif
