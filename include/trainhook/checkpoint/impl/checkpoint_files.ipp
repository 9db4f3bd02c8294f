// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of checkpoint_files.hpp.
#pragma once

#include <trainhook/checkpoint/checkpoint_files.hpp>

#include <trainhook/checkpoint/bundle/bundle_protocol.hpp>

namespace trainhook {

bool checkpoint_exists(FileSystem& file_system, const std::string& prefix) {
  return detail::find_bundle_index(file_system, prefix).has_value();
}

std::vector<double> get_checkpoint_mtimes(FileSystem& file_system, const std::vector<std::string>& prefixes) {
  std::vector<double> times;
  for (const std::string& prefix : prefixes) {
    if (const auto index = detail::find_bundle_index(file_system, prefix))
      times.push_back(file_system.modification_time(index->path));
  }
  return times;
}

}  // namespace trainhook
