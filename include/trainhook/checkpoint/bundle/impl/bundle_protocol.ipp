// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/checkpoint/bundle/bundle_protocol.hpp>

#include <charconv>
#include <cstddef>
#include <limits>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include <trainhook/checkpoint/bundle/tensor_bundle_format.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/io/path.hpp>
#include <trainhook/io/tables.hpp>
#include <trainhook/io/whole_file.hpp>

namespace trainhook::detail {

inline constexpr std::string_view kTemporaryEnding = ".tempstate";
inline constexpr std::string_view kReplaced = ".replaced";
inline constexpr std::string_view kUnlisted = ".unlisted";

inline bool all_of_set(std::string_view text, std::string_view set) {
  return !text.empty() && text.find_first_not_of(set) == std::string_view::npos;
}

std::string bundle_temporary_suffix() { return fmt::format("{}{}", kTemporaryEnding, temporary_number()); }

/// The number at the end of `*.tempstate<digits>`; nothing if the name ends otherwise.
inline std::optional<std::string_view> digits_of_temporary(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || dot == 0 || !name.substr(dot).starts_with(kTemporaryEnding)) return std::nullopt;
  const std::string_view digits = name.substr(dot + kTemporaryEnding.size());
  return all_of_set(digits, "0123456789") ? std::optional(digits) : std::nullopt;
}

bool has_temporary_form(std::string_view name) { return digits_of_temporary(name).has_value(); }

bool is_temporary_name(std::string_view name) {
  const std::optional<std::string_view> digits = digits_of_temporary(name);
  if (!digits) return has_temporary_suffix(name);
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(digits->data(), digits->data() + digits->size(), number);
  return error == std::errc() && is_temporary_number(number);
}

std::optional<std::string_view> base_of_data(std::string_view name) {
  constexpr std::string_view kData = ".data-";
  constexpr std::string_view kOf = "-of-";
  const std::size_t data = name.rfind(kData);
  if (data == std::string_view::npos) return std::nullopt;
  const std::string_view numbers = name.substr(data + kData.size());
  const std::size_t of = numbers.find(kOf);
  if (of == std::string_view::npos || !all_of_set(numbers.substr(0, of), "0123456789") ||
      !all_of_set(numbers.substr(of + kOf.size()), "0123456789"))
    return std::nullopt;
  return name.substr(0, data);
}

/// The part of a temporary name before `ending.tempstateN`.
inline std::optional<TemporaryIndex> temporary_of(std::string_view name, std::string_view ending) {
  const std::size_t dot = name.rfind('.');
  if (!has_temporary_form(name)) return std::nullopt;
  std::string_view base = name.substr(0, dot);
  if (!base.ends_with(ending) || base.size() == ending.size()) return std::nullopt;
  base.remove_suffix(ending.size());
  return TemporaryIndex{std::string(base), std::string(name.substr(dot))};
}

std::optional<TemporaryIndex> temporary_index(std::string_view name) {
  return temporary_of(name, bundle_index_path(""));
}

std::optional<TemporaryIndex> replaced_index(std::string_view name) {
  return temporary_of(name, bundle_index_path("").append(kReplaced));
}

std::string replaced_index_path(std::string_view prefix, std::string_view suffix) {
  return bundle_index_path(prefix).append(kReplaced).append(suffix);
}

std::optional<TemporaryIndex> unlisted_index(std::string_view name) {
  return temporary_of(name, bundle_index_path("").append(kUnlisted));
}

std::string unlisted_index_path(std::string_view prefix, std::string_view suffix) {
  return bundle_index_path(prefix).append(kUnlisted).append(suffix);
}

std::string temporary_data_path(std::string_view prefix, std::uint32_t shard, std::string_view suffix) {
  return bundle_data_path(prefix, shard, shard + 1).append(suffix);
}

std::string longest_bundle_path(std::string_view save_path) {
  constexpr std::int64_t kLargeStep = 999'999'999'999;
  const std::string ending = fmt::format("{}{}", kTemporaryEnding, (std::numeric_limits<std::uint64_t>::max)());
  return temporary_data_path(fmt::format("{}-{}", save_path, kLargeStep), 0, ending);
}

std::optional<BundleIndex> find_bundle_index(FileSystem& file_system, const std::string& prefix) {
  const std::string index = bundle_index_path(prefix);
  if (file_system.exists(index)) return BundleIndex{index};
  const std::string directory = parent_path(prefix);
  if (!file_system.is_directory(directory)) return std::nullopt;
  bool replaced = false;
  for (const std::string& name : file_system.list_directory(directory)) {
    const std::optional<TemporaryIndex> found = replaced_index(name);
    if (!found || found->base != base_name(prefix)) continue;
    replaced = true;
    if (file_system.exists(index + found->suffix)) return BundleIndex{index + found->suffix, found->suffix};
  }
  if (replaced && file_system.exists(index)) return BundleIndex{index};  // another process has just completed it
  return std::nullopt;
}

/// How many shards the checkpoint of an index has.
inline std::uint32_t shards_of_index(FileSystem& file_system, const std::string& index) {
  const TableReader table(read_file(file_system, index), index);
  std::uint32_t shards = 0;
  table.for_each([&](std::string_view key, std::string_view value) {
    if (key.empty()) shards = decode_bundle_header(value, index);
  });
  if (shards == 0) throw DataLossError("checkpoint {} is damaged: it has no header", index);
  return shards;
}

/// Removes what the old checkpoint has and the new one does not replace.
inline void remove_replaced_files(FileSystem& file_system, const std::string& prefix, const std::string& suffix,
                                  std::uint32_t shards) {
  const std::string directory = parent_path(prefix);
  const std::string_view base = base_name(prefix);
  const std::string ending = bundle_data_path("", 0, shards).substr(std::string_view(".data-00000").size());
  bool removed = false;
  for (const std::string& name : file_system.list_directory(directory)) {
    const bool other_data = base_of_data(name) == base && !name.ends_with(ending);
    const bool other_meta =
        name == fmt::format("{}.meta", base) && !file_system.exists(fmt::format("{}.meta{}", prefix, suffix));
    if (!other_data && !other_meta) continue;
    file_system.remove_file(join_path(directory, name));
    removed = true;
  }
  if (removed) file_system.sync_directory(directory);
}

/// Renames the files of a replacement that are neither data nor index.
inline void rename_side_files(FileSystem& file_system, const std::string& prefix, const std::string& suffix) {
  const std::string directory = parent_path(prefix);
  const std::string beginning = fmt::format("{}.", base_name(prefix));
  bool renamed = false;
  for (const std::string& name : file_system.list_directory(directory)) {
    if (!name.starts_with(beginning) || !name.ends_with(suffix)) continue;
    const std::string final_name = name.substr(0, name.size() - suffix.size());
    if (base_of_data(final_name) || temporary_index(name) || replaced_index(name) || unlisted_index(name)) continue;
    file_system.rename(join_path(directory, name), join_path(directory, final_name));
    renamed = true;
  }
  if (renamed) file_system.sync_directory(directory);
}

void begin_replacement(FileSystem& file_system, const std::string& prefix, const std::string& suffix) {
  file_system.rename(bundle_index_path(prefix), replaced_index_path(prefix, suffix));
}

void complete_replacement(FileSystem& file_system, const std::string& prefix, const std::string& suffix) {
  const std::string directory = parent_path(prefix);
  const std::string index = bundle_index_path(prefix);
  if (!file_system.exists(index)) {
    file_system.sync_directory(directory);
    const std::uint32_t shards = shards_of_index(file_system, index + suffix);
    std::vector<std::uint32_t> waiting;
    for (std::uint32_t shard = 0; shard < shards; ++shard) {
      if (file_system.exists(temporary_data_path(prefix, shard, suffix))) waiting.push_back(shard);
    }
    if (!waiting.empty()) {
      if (waiting.size() == shards) remove_replaced_files(file_system, prefix, suffix, shards);
      for (const std::uint32_t shard : waiting) {
        file_system.rename(temporary_data_path(prefix, shard, suffix), bundle_data_path(prefix, shard, shards));
      }
      file_system.sync_directory(directory);
    }
    rename_side_files(file_system, prefix, suffix);
    file_system.rename(index + suffix, index);
    file_system.sync_directory(directory);
  }
  file_system.remove_file(replaced_index_path(prefix, suffix));
}

}  // namespace trainhook::detail
