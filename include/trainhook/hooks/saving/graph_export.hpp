// SPDX-License-Identifier: Apache-2.0
/// @file
/// The MetaGraphDef that is saved with each checkpoint.
#pragma once

#include <string>

#include <trainhook/checkpoint/saver.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/graph.hpp>

namespace trainhook::detail {

/// The serialized MetaGraphDef of a graph whose variables `saver` saves.
[[nodiscard]] TRAINHOOK_DECL std::string export_meta_graph_for(const Graph& graph, const SaverOptions& saver);

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/hooks/saving/impl/graph_export.ipp>
#endif
