// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/data/loop_iterator.hpp>

#include <functional>
#include <memory>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/saveable.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/data/iterator_resource.hpp>
#include <trainhook/loop/state_binding.hpp>

namespace trainhook {

Iterator& make_iterator(LoopSession& loop, const Dataset& dataset, std::string_view name) {
  const GraphIterator node = make_iterator(loop.graph(), dataset, name);
  if (!node.name().ends_with(name)) {
    throw InvalidArgumentError(
        "the loop has an iterator '{0}' already: give each a name of its own, by which checkpoints know its position "
        "('{1}' has what an earlier version saved of this one)",
        name, node.name());
  }
  auto iterator = std::make_shared<Iterator>(dataset);
  detail::LoopAccess::add_state(
      loop, {.name = node.name() + "-state",
             .kind = StateKind::Input,
             .dtype = DType::String,
             .shape = Shape{},
             .save = [iterator, &loop] { return iterator->save_state(detail::external_state_policy(loop.graph())); },
             .prepare = [iterator](const Tensor& value) -> std::function<void()> {
               iterator->verify_state(value);
               return [iterator, value] { iterator->restore_state(value); };
             },
             .reset = [iterator] { iterator->initialize(); }});
  return *iterator;
}

}  // namespace trainhook
