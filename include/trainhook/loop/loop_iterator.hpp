// SPDX-License-Identifier: Apache-2.0
/// @file
/// An input pipeline whose position is part of a LoopSession's state.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <trainhook/data/iterator.hpp>
#include <trainhook/data/iterator_resource.hpp>
#include <trainhook/loop/loop_session.hpp>

namespace trainhook {

/// An iterator over `dataset` that the loop holds and saves: take elements in the step, `batches.get_next(element)`. Its position is kept
/// where an input hook or a saveable asks for it, as with an iterator of a graph, and starts anew with a session that restores nothing.
/// Lives as long as the loop.
inline Iterator& make_iterator(LoopSession& loop, const Dataset& dataset, std::string_view name = "IteratorV2") {
  const GraphIterator node = make_iterator(loop.graph(), dataset, name);
  auto iterator = std::make_shared<Iterator>(dataset);
  loop.add_state({.name = node.name() + "-state",
                  .kind = StateKind::Input,
                  .dtype = DType::String,
                  .shape = Shape{},
                  .save = [iterator, &loop] { return iterator->save_state(external_state_policy(loop.graph())); },
                  .prepare = [iterator](const Tensor& value) -> std::function<void()> {
                    iterator->verify_state(value);
                    return [iterator, value] { iterator->restore_state(value); };
                  },
                  .reset = [iterator] { iterator->initialize(); }});
  return *iterator;
}

}  // namespace trainhook
