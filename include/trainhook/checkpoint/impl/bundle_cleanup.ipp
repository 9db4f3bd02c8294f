// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of bundle_cleanup.hpp.
#pragma once

#include <trainhook/checkpoint/bundle_cleanup.hpp>

#include <fmt/core.h>

#include <cstddef>
#include <string_view>

#include <trainhook/core/error.hpp>
#include <trainhook/io/path.hpp>
#include <trainhook/checkpoint/tensor_bundle_format.hpp>

namespace trainhook::detail {

TRAINHOOK_DECL bool all_of_set(std::string_view text, std::string_view set) {
  return !text.empty() && text.find_first_not_of(set) == std::string_view::npos;
}

/// Whether this library gave the name to a file that was to be renamed: `*.tempstate<digits>` or `*.tmp<16 hex
/// digits>`.
TRAINHOOK_DECL bool is_temporary_name(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || dot == 0) return false;
  const std::string_view suffix = name.substr(dot);
  if (suffix.starts_with(".tempstate")) return all_of_set(suffix.substr(10), "0123456789");
  return suffix.starts_with(".tmp") && suffix.size() == 20 && all_of_set(suffix.substr(4), "0123456789abcdef");
}

/// Whether `name` is a data shard of the checkpoint `base`.
TRAINHOOK_DECL bool is_data_of(std::string_view name, std::string_view base) {
  if (!name.starts_with(base)) return false;
  name.remove_prefix(base.size());
  const std::size_t of = name.find("-of-");
  constexpr std::string_view kData = ".data-";
  if (!name.starts_with(kData) || of == std::string_view::npos || of < kData.size()) return false;
  return all_of_set(name.substr(kData.size(), of - kData.size()), "0123456789") &&
         all_of_set(name.substr(of + 4), "0123456789");
}

}  // namespace trainhook::detail

namespace trainhook {

TRAINHOOK_DECL void remove_checkpoint(FileSystem& file_system, const std::string& prefix) {
  const std::string directory = parent_path(prefix);
  const std::string base(base_name(prefix));
  const auto remove = [&](const std::string& path) {
    try {
      file_system.remove_file(path);
    } catch (const NotFoundError&) {  // that is what was wanted
    }
  };
  remove(detail::bundle_index_path(prefix));
  if (!file_system.is_directory(directory)) return;
  for (const std::string& name : file_system.list_directory(directory)) {
    if (name == fmt::format("{}.meta", base) || detail::is_data_of(name, base)) remove(join_path(directory, name));
  }
}

TRAINHOOK_DECL std::vector<std::string> remove_stale_temporaries(FileSystem& file_system,
                                                                 const std::string& directory) {
  std::vector<std::string> removed;
  if (!file_system.is_directory(directory)) return removed;
  for (const std::string& name : file_system.list_directory(directory)) {
    if (!detail::is_temporary_name(name)) continue;
    removed.push_back(join_path(directory, name));
    file_system.remove_file(removed.back());
  }
  return removed;
}

}  // namespace trainhook
