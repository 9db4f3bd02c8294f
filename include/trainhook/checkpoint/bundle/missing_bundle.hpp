// SPDX-License-Identifier: Apache-2.0
/// @file
/// What to say of a path that names no checkpoint: often there is a file of another format.
#pragma once

#include <optional>
#include <string>

#include <trainhook/core/error.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/io/file_system.hpp>

namespace trainhook::detail {

/// The error for a prefix without an index. If there is a file or directory of that name, it says what this is, by its
/// name and its first or last bytes, and the way from there to a checkpoint: a file of a checkpoint, TensorFlow's V1
/// format, a SavedModel, files of Keras, PyTorch and safetensors.
[[nodiscard]] TRAINHOOK_DECL NotFoundError missing_bundle(FileSystem& file_system, const std::string& prefix);

/// The prefix of the checkpoint in a SavedModel, which holds the model's variables; nothing if the directory is none.
[[nodiscard]] TRAINHOOK_DECL std::optional<std::string> variables_of_saved_model(FileSystem& file_system,
                                                                                 const std::string& directory);

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/checkpoint/bundle/impl/missing_bundle.ipp>
#endif
