// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/checkpoint/iterator_saveable.hpp>

#include <string>

#include <fmt/format.h>

#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/data/dataset.hpp>
#include <trainhook/graph/node.hpp>

namespace trainhook::detail {

void check_external_state(const IteratorResource& iterator, ExternalStatePolicy policy, std::string_view who) {
  if (policy == ExternalStatePolicy::Ignore) return;
  for (const std::string& reason : iterator.dataset.external_state()) {
    const std::string report =
        fmt::format("iterator '{}' has state that no checkpoint can hold: {}", iterator.op.name(), reason);
    if (policy == ExternalStatePolicy::Fail) {
      throw FailedPreconditionError(
          "{}: {}; change that, or set external_state_policy to Warn or Ignore and lose exact resuming", who, report);
    }
    log_warning("{}: {}; a resumed training reads other elements there", who, report);
  }
}

}  // namespace trainhook::detail

namespace trainhook {

detail::SessionStateSaveable make_saveable_from_iterator(Graph& graph, std::string_view name,
                                                         ExternalStatePolicy external_state_policy) {
  for (const detail::IteratorResource& iterator : detail::iterators(graph)) {
    if (iterator.op.name() != name) continue;
    detail::check_external_state(iterator, external_state_policy, "make_saveable_from_iterator");
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
