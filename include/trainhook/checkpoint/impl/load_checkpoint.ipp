// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/checkpoint/load_checkpoint.hpp>

#include <optional>
#include <utility>

#include <fmt/format.h>

#include <trainhook/checkpoint/bundle/missing_bundle.hpp>
#include <trainhook/checkpoint/checkpoint_files.hpp>
#include <trainhook/checkpoint/checkpoint_state.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/io/path.hpp>

namespace trainhook::detail {

/// A checkpoint in a directory whose state file names none, for the message. Empty if there is none.
inline std::string any_checkpoint_in(FileSystem& file_system, const std::string& directory) {
  std::vector<std::string> there = checkpoints_on_disk(file_system, directory);
  if (there.empty()) there = checkpoints_without_step(file_system, directory);
  return there.empty() ? std::string() : there.back();
}

std::string checkpoint_prefix(FileSystem& file_system, const std::string& ckpt_dir_or_file) {
  const bool ends_as_directory = ckpt_dir_or_file.ends_with('/');  // so may a prefix, whose index is DIR/.index
  if (!file_system.is_directory(ckpt_dir_or_file) ||
      (ends_as_directory && checkpoint_exists(file_system, ckpt_dir_or_file)))
    return ckpt_dir_or_file;
  if (std::optional<std::string> newest = latest_checkpoint(file_system, ckpt_dir_or_file)) return *std::move(newest);
  if (std::optional<std::string> variables = variables_of_saved_model(file_system, ckpt_dir_or_file))
    return *std::move(variables);
  const std::string there = any_checkpoint_in(file_system, ckpt_dir_or_file);
  throw InvalidArgumentError(
      "Couldn't find 'checkpoint' file or checkpoints in given directory {}; {}", ckpt_dir_or_file,
      there.empty() ? "it holds no checkpoint" : fmt::format("give the path of a checkpoint, such as {}", there));
}

}  // namespace trainhook::detail

namespace trainhook {

BundleReader load_checkpoint(FileSystem& file_system, const std::string& ckpt_dir_or_file) {
  return BundleReader(detail::checkpoint_prefix(file_system, ckpt_dir_or_file), {.file_system = &file_system});
}

std::vector<NamedShape> list_variables(FileSystem& file_system, const std::string& ckpt_dir_or_file) {
  const BundleReader reader = load_checkpoint(file_system, ckpt_dir_or_file);
  std::vector<NamedShape> variables;
  for (const auto& [name, entry] : reader.entries()) variables.push_back({name, entry.shape});
  return variables;
}

Tensor load_variable(FileSystem& file_system, const std::string& ckpt_dir_or_file, std::string_view name) {
  if (name.ends_with(":0")) name.remove_suffix(2);
  return load_checkpoint(file_system, ckpt_dir_or_file).get_tensor(name);
}

}  // namespace trainhook
