// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/checkpoint/bundle/missing_bundle.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include <trainhook/checkpoint/bundle/tensor_bundle_format.hpp>
#include <trainhook/core/coding.hpp>
#include <trainhook/io/path.hpp>
#include <trainhook/io/tables.hpp>

namespace trainhook::detail {

/// What a checkpoint's files have behind its prefix: `.index`, `.meta`, `.data-00000-of-00001`. Empty for other paths.
inline std::string_view file_ending(std::string_view path) {
  const std::string_view end = path.substr((std::min)(path.rfind('.'), path.size()));
  if (end == ".index" || end == ".meta") return end;
  constexpr std::string_view kShard = ".data-00000-of-00001";
  const auto fits = [](char c, char like) { return like == '0' || like == '1' ? c >= '0' && c <= '9' : c == like; };
  return std::ranges::equal(end, kShard, fits) ? end : std::string_view();
}

/// The first eight bytes of a file, or the last eight; empty if it is no file, cannot be read or has fewer.
inline std::string eight_bytes(FileSystem& file_system, const std::string& path, bool last) {
  try {
    if (!file_system.exists(path) || file_system.is_directory(path)) return {};
    const std::unique_ptr<ReadableFile> file = file_system.open_readable(path);
    std::string bytes(8, '\0');
    const std::uint64_t size = file->size();
    if (size < bytes.size()) return {};
    file->read_at(last ? size - bytes.size() : 0, std::as_writable_bytes(std::span(bytes)));
    return bytes;
  } catch (const Error&) { return {}; }
}

/// The file of a checkpoint in TensorFlow's V1 format, a table by the name of the prefix, or nothing. Its only shard
/// has a number.
inline std::optional<std::string> find_v1_checkpoint(FileSystem& file_system, const std::string& prefix) {
  for (const std::string& path : {prefix, prefix + "-00000-of-00001"}) {
    const std::string bytes = eight_bytes(file_system, path, true);
    if (!bytes.empty() && fixed64_at(bytes, 0) == kTableMagic) return path;
  }
  return std::nullopt;
}

/// What a file of another format is, and the way out. Empty for all others.
inline std::string_view foreign_format(FileSystem& file_system, const std::string& path) {
  constexpr std::string_view kKeras =
      "is a file of Keras: load the model in Keras and save it by tf.train.Checkpoint(model=model).write(path)";
  const std::string bytes = eight_bytes(file_system, path, false);
  if (bytes.empty()) return {};
  if (bytes == "\x89HDF\r\n\x1a\n" || (bytes.starts_with("PK\3\4") && path.ends_with(".keras"))) return kKeras;
  if (bytes.starts_with("PK\3\4"))
    return "is a zip archive, as torch.save writes it: save the tensors in PyTorch by safetensors.torch.save_file, and "
           "give th::safetensors(file), of <trainhook/exchange.hpp>";
  if (path.ends_with(".safetensors") || path.ends_with(".safetensors.index.json"))
    return "is a safetensors file: give th::safetensors(path), of <trainhook/exchange.hpp>";
  return {};
}

NotFoundError missing_bundle(FileSystem& file_system, const std::string& prefix) {
  if (const auto end = file_ending(prefix); !end.empty())
    return NotFoundError("there is no checkpoint {}: that names a file of one; give its path without {}", prefix, end);
  const std::string_view name = base_name(prefix);
  const bool is_graph = name == "saved_model.pb" || name == "saved_model.pbtxt";
  const std::string directory = is_graph ? std::string(parent_path(prefix)) : prefix;
  if (const auto variables = variables_of_saved_model(file_system, directory)) {
    return NotFoundError("there is no checkpoint {}: that is {} a SavedModel; give the path of its variables, {}",
                         prefix, is_graph ? "the graph of" : "the directory of", *variables);
  }
  if (const auto v1 = find_v1_checkpoint(file_system, prefix)) {
    return NotFoundError(
        "there is no checkpoint {} that can be read: {} is of TensorFlow's V1 format; restore it in TensorFlow and "
        "save it again by tf.compat.v1.train.Saver(), which writes the V2 format",
        prefix, *v1);
  }
  if (const auto format = foreign_format(file_system, prefix); !format.empty())
    return NotFoundError("there is no checkpoint {} that can be read: it {}", prefix, format);
  return NotFoundError("there is no checkpoint {}: {} does not exist", prefix, bundle_index_path(prefix));
}

std::optional<std::string> variables_of_saved_model(FileSystem& file_system, const std::string& directory) {
  for (const char* graph : {"saved_model.pb", "saved_model.pbtxt"})
    if (file_system.exists(join_path(directory, graph)))
      return join_path(join_path(directory, "variables"), "variables");
  return std::nullopt;
}

}  // namespace trainhook::detail
