// SPDX-License-Identifier: Apache-2.0
/// @file
/// The ops of an iterator in a graph; `make_iterator` of data/iterator_resource.hpp adds them.
#pragma once

#include <span>
#include <string_view>

#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/graph/op_def.hpp>

namespace trainhook::detail {

/// IteratorV2 and IteratorGetNext.
[[nodiscard]] TRAINHOOK_DECL OpFamily iterator_ops() noexcept;

/// Adds an IteratorV2 whose elements have these components.
TRAINHOOK_DECL Operation iterator(Graph& graph, std::span<const OutputSpec> components, std::string_view name);

/// Adds an IteratorGetNext, which has an output for each component of an element.
TRAINHOOK_DECL Operation iterator_get_next(Operation iterator, std::span<const OutputSpec> components);

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/graph/ops/impl/iterator.ipp>
#endif
