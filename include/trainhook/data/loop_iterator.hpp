// SPDX-License-Identifier: Apache-2.0
/// @file
/// make_iterator: an input pipeline whose position is part of a LoopSession's state.
#pragma once

#include <string_view>

#include <trainhook/core/linkage.hpp>
#include <trainhook/data/dataset.hpp>
#include <trainhook/data/iterator.hpp>
#include <trainhook/loop/loop_session.hpp>

namespace trainhook {

/// Creates an iterator over `dataset`; the loop owns it. Take elements in the step: `batches.get_next(element)`. As
/// with a graph's iterator, its position is saved if an input hook or a saveable asks for it. A session that restores
/// nothing starts it from the beginning.
/// @throws InvalidArgumentError if the loop has an iterator of that name: positions in checkpoints have those names,
/// and numbers in the order of creation would mix them up.
TRAINHOOK_DECL Iterator& make_iterator(LoopSession& loop, const Dataset& dataset, std::string_view name = "IteratorV2");

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/data/impl/loop_iterator.ipp>
#endif
