// SPDX-License-Identifier: Apache-2.0
/// @file
/// make_saveable_from_iterator: keeps the position of an input pipeline in the model's own checkpoint.
#pragma once

#include <string>
#include <string_view>

#include <trainhook/checkpoint/saver.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/data/iterator_resource.hpp>

namespace trainhook {
namespace detail {

/// Says of state that no checkpoint can hold what `policy` wants said. @throws FailedPreconditionError, naming iterator and stage, for
/// `Fail`.
inline void check_external_state(const IteratorResource& iterator, ExternalStatePolicy policy, std::string_view who) {
  if (policy == ExternalStatePolicy::Ignore) return;
  for (const std::string& reason : iterator.dataset.external_state()) {
    const std::string report = str_cat("iterator '", iterator.op.name(), "' has state that no checkpoint can hold: ", reason);
    if (policy == ExternalStatePolicy::Fail) {
      throw FailedPreconditionError(who, ": ", report,
                                    "; change that, or set external_state_policy to Warn or Ignore and lose exact resuming");
    }
    log_warning(who, ": ", report, "; a resumed training reads other elements there");
  }
}

}  // namespace detail

/// What to put into the collection `saveable_objects`, so that the model's saver stores the iterator called `name` as `<name>-state` and
/// restores it with the model: the two are then of one step by construction. For training graphs only: an evaluation must not continue the
/// input of the training. Source: `tf.data.experimental.make_saveable_from_iterator`.
/// @throws NotFoundError where the graph has no such iterator, FailedPreconditionError where it has state that the policy does not allow.
[[nodiscard]] inline SessionStateSaveable make_saveable_from_iterator(
    Graph& graph, std::string_view name, ExternalStatePolicy external_state_policy = ExternalStatePolicy::Fail) {
  for (const IteratorResource& iterator : iterators(graph)) {
    if (iterator.op.name() != name) continue;
    detail::check_external_state(iterator, external_state_policy, "make_saveable_from_iterator");
    if (external_state_policy != ExternalStatePolicy::Fail) graph.add_to_collection(kExternalStatePolicies, external_state_policy);
    return {.state_name = iterator.state_name()};
  }
  throw NotFoundError("make_saveable_from_iterator: the graph has no iterator '", name, "'; make it with make_iterator()");
}

/// The same for an iterator at hand.
[[nodiscard]] inline SessionStateSaveable make_saveable_from_iterator(
    const GraphIterator& iterator, ExternalStatePolicy external_state_policy = ExternalStatePolicy::Fail) {
  return make_saveable_from_iterator(iterator.op().graph(), iterator.name(), external_state_policy);
}

}  // namespace trainhook
