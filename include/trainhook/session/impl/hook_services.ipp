// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of hook_services.hpp.
#pragma once

#include <trainhook/session/hook_services.hpp>

namespace trainhook {

TRAINHOOK_DECL HookServices::HookServices(FileSystem& file_system, Clock& clock, FileWriterCache& writers) noexcept
    : file_system_(&file_system), clock_(&clock), writers_(&writers) {}

TRAINHOOK_DECL void HookServices::prepare_step_function(SessionRef session) const {
  for (const auto& action : put_off_) action(session);
}

TRAINHOOK_DECL void HookServices::wait_for_background_saves() const {
  for (const auto& wait : background_saves_) wait();
}

TRAINHOOK_DECL void HookServices::begin_end() const noexcept {
  for (const auto& action : before_end_) action();
}

TRAINHOOK_DECL const PublishedMetric* HookServices::metric(std::string_view name) const noexcept {
  for (const auto& [known, metric] : metrics_) {
    if (known == name) return &metric;
  }
  return nullptr;
}

TRAINHOOK_DECL PublishedMetric& HookServices::entry(PublishedMetrics& metrics, std::string_view name) {
  for (auto& [known, metric] : metrics) {
    if (known == name) return metric;
  }
  return metrics.emplace_back(name, PublishedMetric()).second;
}

}  // namespace trainhook
