// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of agreement.hpp.
#pragma once

#include <trainhook/monitored/agreement.hpp>

#include <algorithm>
#include <chrono>

#include <trainhook/session/collective.hpp>

namespace trainhook::detail {

Agreement::~Agreement() = default;

std::shared_ptr<Agreement> Agreement::of(const MonitoredSessionOptions& options) {
  if (options.collective == nullptr) return nullptr;
  const Duration grace = (std::max)(options.stop_grace_period_secs, Duration(std::chrono::seconds(10)));
  std::shared_ptr<Agreement> agreement =
      options.collective->make_agreement({.every_n_steps = options.agree_every_n_steps,
                                          .max_wait_secs = options.max_wait_secs,
                                          .stop_grace_period_secs = grace});
  if (agreement->size() == 1) return nullptr;
  return agreement;
}

}  // namespace trainhook::detail
