// SPDX-License-Identifier: Apache-2.0
/// @file
/// An input pipeline whose position is part of a LoopSession's state.
#pragma once

#include <string_view>

#include <trainhook/core/linkage.hpp>
#include <trainhook/data/dataset.hpp>
#include <trainhook/data/iterator.hpp>
#include <trainhook/loop/loop_session.hpp>

namespace trainhook {

/// An iterator over `dataset` that the loop holds and saves: take elements in the step, `batches.get_next(element)`.
/// Its position is kept where an input hook or a saveable asks for it, as with an iterator of a graph, and starts anew
/// with a session that restores nothing. Lives as long as the loop.
TRAINHOOK_DECL Iterator& make_iterator(LoopSession& loop, const Dataset& dataset, std::string_view name = "IteratorV2");

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/loop/impl/loop_iterator.ipp>
#endif
