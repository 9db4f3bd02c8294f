// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/graph/saved_input.hpp>

#include <fmt/format.h>

#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/graph/graph.hpp>

namespace trainhook::detail {

void SavedInput::check_external_state(ExternalStatePolicy policy, std::string_view who) const {
  if (policy == ExternalStatePolicy::Ignore) return;
  for (const std::string& reason : external_state()) {
    const std::string report = fmt::format("iterator '{}' has state that no checkpoint can hold: {}", name, reason);
    if (policy == ExternalStatePolicy::Fail) {
      throw FailedPreconditionError(
          "{}: {}; change that, or set external_state_policy to Warn or Ignore and lose exact resuming", who, report);
    }
    log_warning("{}: {}; a resumed training reads other elements there", who, report);
  }
}

ExternalStatePolicy external_state_policy(const Graph& graph) {
  const auto policies = graph.collection<ExternalStatePolicy>(kExternalStatePolicies);
  return policies.empty() ? ExternalStatePolicy::Fail : policies.back();
}

}  // namespace trainhook::detail
