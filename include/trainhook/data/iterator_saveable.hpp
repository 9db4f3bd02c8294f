// SPDX-License-Identifier: Apache-2.0
/// @file
/// make_saveable_from_iterator: saves the position of an input pipeline in the model's checkpoint.
#pragma once

#include <string_view>

#include <trainhook/checkpoint/saver.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/saved_input.hpp>
#include <trainhook/data/iterator_resource.hpp>
#include <trainhook/graph/graph.hpp>

namespace trainhook {

/// Add the result to the collection `saveable_objects`: the model's saver then stores the iterator called `name` as
/// `<name>-state` and restores it with the model, so both are always of the same step. For training graphs only: an
/// evaluation must not continue the training's input. Source: `tf.data.experimental.make_saveable_from_iterator`.
/// @throws NotFoundError if the graph has no such iterator, FailedPreconditionError if it has external state that the
/// policy does not allow.
[[nodiscard]] TRAINHOOK_DECL detail::SessionStateSaveable make_saveable_from_iterator(
    Graph& graph, std::string_view name, ExternalStatePolicy external_state_policy = ExternalStatePolicy::Fail);

/// The same for an iterator's handle.
[[nodiscard]] TRAINHOOK_DECL detail::SessionStateSaveable make_saveable_from_iterator(
    const GraphIterator& iterator, ExternalStatePolicy external_state_policy = ExternalStatePolicy::Fail);

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/data/impl/iterator_saveable.ipp>
#endif
