// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/data/iterator_saveable.hpp>

#include <trainhook/core/error.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/graph/saved_input.hpp>

namespace trainhook {

detail::SessionStateSaveable make_saveable_from_iterator(Graph& graph, std::string_view name,
                                                         ExternalStatePolicy external_state_policy) {
  for (const detail::IteratorResource& iterator : detail::iterators(graph)) {
    if (iterator.op.name() != name) continue;
    iterator.as_saved_input().check_external_state(external_state_policy, "make_saveable_from_iterator");
    if (external_state_policy != ExternalStatePolicy::Fail)
      graph.add_to_collection(detail::kExternalStatePolicies, external_state_policy);
    return {.state_name = iterator.state_name()};
  }
  throw NotFoundError("make_saveable_from_iterator: the graph has no iterator '{}'; make it with make_iterator()",
                      name);
}

detail::SessionStateSaveable make_saveable_from_iterator(const GraphIterator& iterator,
                                                         ExternalStatePolicy external_state_policy) {
  return make_saveable_from_iterator(iterator.op().graph(), iterator.name(), external_state_policy);
}

}  // namespace trainhook
