// SPDX-License-Identifier: Apache-2.0
/// @file
/// SafetensorsReader, read_safetensors: the tensors of a safetensors file; th::safetensors: such a file in the place of
/// a checkpoint.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <trainhook/checkpoint/bundle/tensor_slice.hpp>
#include <trainhook/checkpoint/checkpoint_source.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/exchange/safetensors_format.hpp>
#include <trainhook/io/file_system.hpp>

namespace trainhook {

struct SafetensorsReaderOptions {
  FileSystem* file_system = nullptr;  ///< null: the disk. Must outlive the constructor.
};

/// An open safetensors file, or all files of an index. The constructor checks everything except the elements, which
/// have no checksums in this format. Open files can be read even if they are replaced meanwhile. Any number of threads
/// may read at once. Source: `safetensors.safe_open`.
class SafetensorsReader {
 public:
  /// The tensors by name.
  using Entries = std::map<std::string, SafetensorsEntry, std::less<>>;

  /// `path` is that of the file, or of `model.safetensors.index.json`; `model.safetensors`, if there is none, is also
  /// found by its index.
  /// @throws NotFoundError if there is no such file, DataLossError, naming file, tensor and field, if it is damaged or
  /// of another format.
  TRAINHOOK_DECL explicit SafetensorsReader(std::string path, SafetensorsReaderOptions options = {});

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] const Entries& entries() const noexcept { return entries_; }

  /// The texts in `__metadata__`, of the first file.
  [[nodiscard]] const std::map<std::string, std::string>& metadata() const noexcept { return metadata_; }

  [[nodiscard]] bool has_tensor(std::string_view name) const { return entries_.find(name) != entries_.end(); }

  /// Where a tensor is. @throws NotFoundError, which lists similar names.
  [[nodiscard]] TRAINHOOK_DECL const SafetensorsEntry& entry(std::string_view name) const;

  /// Reads a tensor, or a region of one. @throws NotFoundError as above, UnimplementedError for a dtype that this
  /// library lacks, DataLossError for a boolean that is neither 0 nor 1, InvalidArgumentError for a region outside of
  /// the tensor.
  [[nodiscard]] TRAINHOOK_DECL Tensor get_tensor(std::string_view name) const;
  [[nodiscard]] TRAINHOOK_DECL Tensor get_tensor(std::string_view name, const TensorSlice& slice) const;

 private:
  TRAINHOOK_DECL void open_shards(FileSystem& file_system, const std::string& index_path);

  std::string path_;
  Entries entries_;
  std::map<std::string, std::string> metadata_;
  std::vector<std::unique_ptr<ReadableFile>> files_;
};

/// Reads all tensors. Source: `safetensors.numpy.load_file`.
/// @throws as SafetensorsReader; UnimplementedError names a tensor whose dtype this library lacks: F8, F6 or F4.
[[nodiscard]] TRAINHOOK_DECL std::map<std::string, Tensor> read_safetensors(const std::string& path,
                                                                            SafetensorsReaderOptions options = {});

/// A CheckpointFormat: names, dtypes and shapes are those of the file.
[[nodiscard]] TRAINHOOK_DECL std::unique_ptr<CheckpointContents> open_safetensors(const std::string& path,
                                                                                  FileSystem& file_system,
                                                                                  BundleFiles files);

/// The file in every place that takes a checkpoint:
///
///     .restore = th::RestoreRules{.from = th::safetensors("pretrained.safetensors"),
///                                 .rename = {{"encoder.", "net/encoder."}}}
[[nodiscard]] inline CheckpointSource safetensors(std::string path) { return {std::move(path), open_safetensors}; }

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/exchange/impl/safetensors_reader.ipp>
#endif
