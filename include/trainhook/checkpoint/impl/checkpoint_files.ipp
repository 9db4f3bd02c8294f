// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/checkpoint/checkpoint_files.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <system_error>
#include <utility>

#include <trainhook/checkpoint/bundle/bundle_protocol.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/io/path.hpp>
#include <trainhook/io/whole_file.hpp>

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

std::optional<std::int64_t> step_of_checkpoint(std::string_view prefix) noexcept {
  const std::string_view base = base_name(prefix);
  const std::size_t dash = base.rfind('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const std::string_view digits = base.substr(dash + 1);
  std::int64_t step = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), step);
  return error == std::errc{} && end == digits.data() + digits.size() ? std::optional(step) : std::nullopt;
}

std::vector<std::string> checkpoints_on_disk(FileSystem& file_system, const std::string& directory,
                                             const std::optional<std::string>& basename) {
  if (!file_system.is_directory(directory)) return {};
  return detail::checkpoints_listed_in(file_system, directory, basename);
}

}  // namespace trainhook

namespace trainhook::detail {

std::string_view without_step(std::string_view prefix) noexcept {
  return step_of_checkpoint(prefix) ? prefix.substr(0, prefix.rfind('-')) : prefix;
}

std::vector<std::string> checkpoints_listed_in(FileSystem& file_system, const std::string& directory,
                                               const std::optional<std::string>& basename) {
  std::vector<std::pair<std::int64_t, std::string>> found;
  for (std::string name : file_system.list_directory(directory)) {
    if (auto replaced = replaced_index(name)) {
      name = std::move(replaced->base);
    } else if (name.ends_with(".index")) {
      name.resize(name.size() - std::string_view(".index").size());
    } else {
      continue;
    }
    const std::optional<std::int64_t> step = step_of_checkpoint(name);
    if (step && (!basename || without_step(name) == *basename)) found.emplace_back(*step, join_path(directory, name));
  }
  std::ranges::sort(found);
  found.erase(std::unique(found.begin(), found.end()), found.end());
  std::vector<std::string> prefixes;
  for (auto& [step, prefix] : found) prefixes.push_back(std::move(prefix));
  return prefixes;
}

std::vector<std::string> checkpoints_without_step(FileSystem& file_system, const std::string& directory) {
  if (!file_system.is_directory(directory)) return {};
  constexpr std::string_view kIndex = ".index";
  std::vector<std::string> prefixes;
  for (const std::string& name : file_system.list_directory(directory)) {
    if (!name.ends_with(kIndex)) continue;
    const std::string stem = name.substr(0, name.size() - kIndex.size());
    if (!step_of_checkpoint(stem)) prefixes.push_back(stem.empty() ? directory + '/' : join_path(directory, stem));
  }
  std::ranges::sort(prefixes);
  return prefixes;
}

bool is_checkpoint_of(FileSystem& file_system, const std::string& prefix, const std::string& directory,
                      const std::optional<std::string>& basename, std::int64_t step) {
  if (prefix.empty() || step_of_checkpoint(prefix) != step) return false;
  const auto index = find_bundle_index(file_system, prefix);
  if (!index && plain_path(parent_path(prefix)) == plain_path(directory)) {
    throw NotFoundError(
        "{}, from which the session was restored, is gone: something else removes checkpoints from '{}'; restart the "
        "program to resume from its newest checkpoint",
        prefix, directory);
  }
  for (const std::string& found : checkpoints_listed_in(file_system, directory, basename)) {
    if (step_of_checkpoint(found) != step) continue;
    if (plain_path(found) == plain_path(prefix)) return true;
    const auto own = find_bundle_index(file_system, found);
    if (index && own && read_file(file_system, own->path) == read_file(file_system, index->path)) return true;
  }
  return false;
}

}  // namespace trainhook::detail
