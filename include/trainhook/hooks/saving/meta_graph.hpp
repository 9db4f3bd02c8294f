// SPDX-License-Identifier: Apache-2.0
/// @file
/// The MetaGraphDef that is saved with each checkpoint.
#pragma once

#include <string>

#include <trainhook/checkpoint/saver.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/session/session_ref.hpp>

namespace trainhook::detail {

/// The serialized MetaGraphDef of the session's graph, whose variables `saver` saves; empty if the session has no
/// `graph_export`.
[[nodiscard]] TRAINHOOK_DECL std::string meta_graph_of(SessionRef session, const SaverOptions& saver);

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/hooks/saving/impl/meta_graph.ipp>
#endif
