// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of checkpoint_files.hpp.
#pragma once

#include <trainhook/checkpoint/checkpoint_files.hpp>

#include <trainhook/checkpoint/tensor_bundle_format.hpp>

namespace trainhook {

TRAINHOOK_DECL bool checkpoint_exists(FileSystem& file_system, const std::string& prefix) {
  return file_system.exists(detail::bundle_index_path(prefix));
}

TRAINHOOK_DECL std::vector<double> get_checkpoint_mtimes(FileSystem& file_system,
                                                         const std::vector<std::string>& prefixes) {
  std::vector<double> times;
  for (const std::string& prefix : prefixes) {
    if (!checkpoint_exists(file_system, prefix)) continue;
    times.push_back(file_system.modification_time(detail::bundle_index_path(prefix)));
  }
  return times;
}

}  // namespace trainhook
