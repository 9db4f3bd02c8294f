// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of environment.hpp.
#pragma once

#include <trainhook/session/environment.hpp>

namespace trainhook {

TRAINHOOK_DECL Environment::Environment(FileSystem& file_system, Clock& clock, FileWriterCache& writers) noexcept
    : file_system_(&file_system), clock_(&clock), writers_(&writers) {}

}  // namespace trainhook
