// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of hook_services.hpp.
#pragma once

#include <trainhook/session/hook_services.hpp>

namespace trainhook {

TRAINHOOK_DECL HookServices::HookServices(FileSystem& file_system, Clock& clock, FileWriterCache& writers) noexcept
    : file_system_(&file_system), clock_(&clock), writers_(&writers) {}

TRAINHOOK_DECL const PublishedMetric* HookServices::metric(std::string_view name) const noexcept {
  const auto found = metrics_.find(name);
  return found == metrics_.end() ? nullptr : &found->second;
}

}  // namespace trainhook
