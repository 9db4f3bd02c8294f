// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/session/hook_services.hpp>

#include <algorithm>

#include <trainhook/core/error.hpp>
#include <trainhook/core/shared.hpp>

namespace trainhook {

HookServices::HookServices(FileSystem& file_system, Clock& clock, FileWriterCache& writers, Peers& peers) noexcept
    : file_system_(&file_system), clock_(&clock), writers_(&writers), peers_(&peers) {}

const PublishedMetric* HookServices::metric(std::string_view name) const noexcept {
  const auto found = std::ranges::find(metrics_, name, &PublishedMetrics::value_type::first);
  return found == metrics_.end() ? nullptr : &found->second;
}

PublishedMetric& HookServices::entry(PublishedMetrics& metrics, std::string_view name) {
  const auto found = std::ranges::find(metrics, name, &PublishedMetrics::value_type::first);
  return found == metrics.end() ? metrics.emplace_back(name, PublishedMetric()).second : found->second;
}

}  // namespace trainhook

namespace trainhook::detail {

SessionServices::SessionServices(FileSystem& file_system, Clock& clock, FileWriterCache& writers, Peers& peers)
    : HookServices(file_system, clock, writers, peers), activity_(make_shared_object<SessionActivity>()) {}

void SessionServices::prepare_step_function(SessionRef session) const {
  for (const auto& action : put_off_) action(session);
}

void SessionServices::wait_for_background_saves() const {
  for (const auto& wait : background_saves_) wait();
}

void SessionServices::begin_end() const noexcept {
  for (const auto& action : before_end_) action();
}

void SessionServices::claim_metrics(const SessionRunHook& hook, std::string_view type, std::string_view name) {
  for (const Publisher& other : publishers_) {
    if (other.name != name || other.hook == &hook) continue;
    throw InvalidArgumentError(
        "{} '{}': a hook of this session, {} '{}', publishes its metrics as '{}/...' too, so that the values of both "
        "would be mixed; give each its own name",
        type, name, other.type, name, name);
  }
  publishers_.push_back({&hook, std::string(type), std::string(name)});
}

}  // namespace trainhook::detail
