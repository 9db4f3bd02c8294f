// SPDX-License-Identifier: Apache-2.0
/// @file
/// load_checkpoint, list_variables, load_variable: the contents of a checkpoint, or of the newest one in a directory.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <trainhook/checkpoint/bundle/bundle_reader.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/io/file_system.hpp>
#include <trainhook/io/posix_file_system.hpp>

namespace trainhook {

/// Opens a checkpoint. `ckpt_dir_or_file` is a prefix (the path without `.index`), or a directory, whose newest
/// checkpoint is opened, as `latest_checkpoint` finds it, or the variables of a SavedModel. Source:
/// `tf.train.load_checkpoint`.
/// @throws InvalidArgumentError if the directory's state file names no existing checkpoint, NotFoundError if there is
/// neither a directory nor a checkpoint of that name; otherwise as BundleReader.
[[nodiscard]] TRAINHOOK_DECL BundleReader load_checkpoint(FileSystem& file_system, const std::string& ckpt_dir_or_file);
[[nodiscard]] inline BundleReader load_checkpoint(const std::string& ckpt_dir_or_file) {
  return load_checkpoint(posix_file_system(), ckpt_dir_or_file);
}

namespace detail {

/// The prefix of the checkpoint that `load_checkpoint` opens.
[[nodiscard]] TRAINHOOK_DECL std::string checkpoint_prefix(FileSystem& file_system,
                                                           const std::string& ckpt_dir_or_file);

}  // namespace detail

/// A variable as `list_variables` returns it.
struct NamedShape {
  std::string name{};
  Shape shape{};

  friend bool operator==(const NamedShape&, const NamedShape&) = default;
};

/// Lists the tensors of a checkpoint, sorted by name, without reading them. A partitioned variable occurs once, with
/// its full shape. Source: `tf.train.list_variables`. @throws as `load_checkpoint`.
[[nodiscard]] TRAINHOOK_DECL std::vector<NamedShape> list_variables(FileSystem& file_system,
                                                                    const std::string& ckpt_dir_or_file);
[[nodiscard]] inline std::vector<NamedShape> list_variables(const std::string& ckpt_dir_or_file) {
  return list_variables(posix_file_system(), ckpt_dir_or_file);
}

/// Reads and verifies one tensor of a checkpoint. `name` may end in `:0`, as the names of graph variables do. Opens the
/// checkpoint each time: to read several tensors, use `load_checkpoint` once. Source: `tf.train.load_variable`.
/// @throws as `load_checkpoint` and `BundleReader::get_tensor`: NotFoundError if there is no tensor of that name.
[[nodiscard]] TRAINHOOK_DECL Tensor load_variable(FileSystem& file_system, const std::string& ckpt_dir_or_file,
                                                  std::string_view name);
[[nodiscard]] inline Tensor load_variable(const std::string& ckpt_dir_or_file, std::string_view name) {
  return load_variable(posix_file_system(), ckpt_dir_or_file, name);
}

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/checkpoint/impl/load_checkpoint.ipp>
#endif
