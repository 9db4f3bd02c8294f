// SPDX-License-Identifier: Apache-2.0
/// @file
/// write_safetensors: tensors, or a checkpoint, as a safetensors file.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <trainhook/checkpoint/bundle/bundle_reader.hpp>
#include <trainhook/core/dtype.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/io/file_system.hpp>

namespace trainhook {

struct SafetensorsOptions {
  /// Only tensors whose names begin so are written: `"net/"` leaves out the optimizer's.
  std::string only{};

  /// Pairs of a beginning of names and what replaces it; the first pair that fits a name counts: `{{"net/", ""}}`. A
  /// beginning ends at a '/' or '.' of the name, or with it, so that `fc1` is not that of `fc10.weight`; an empty one
  /// fits all names.
  std::vector<std::pair<std::string, std::string>> rename{};

  /// Floating-point tensors are rounded to this dtype; others stay. None: all stay.
  std::optional<DType> dtype{};

  /// Texts for `__metadata__`. Hugging Face's transformers wants `{{"format", "pt"}}`.
  std::map<std::string, std::string> metadata{};

  /// Bytes of tensors in one file. If they are more in all, `model.safetensors` becomes
  /// `model-00001-of-00003.safetensors` and so on with `model.safetensors.index.json`; a larger tensor has a file of
  /// its own. 0: a single file.
  std::uint64_t max_shard_size = 0;

  FileSystem* file_system = nullptr;  ///< null: the disk
};

/// Writes the tensors of a checkpoint, one after the other, so that it needs the memory of the largest. Returns, and
/// logs, the names of what it leaves out: texts, complex128, and the state of hooks. A single file is replaced as a
/// whole. Shards come before their index, so an error may leave shards without one; another try replaces them. Source:
/// `safetensors.numpy.save_file`; `huggingface_hub.save_torch_model` for shards.
/// @throws InvalidArgumentError for a `dtype` that has no floating point, or two tensors of one name;
/// AlreadyExistsError if a file is where shards would go; FailedPreconditionError if a file of that name is no
/// safetensors file; NotFoundError if `only` or a pair of `rename` fits no name; otherwise as BundleReader and
/// FileSystem.
TRAINHOOK_DECL std::vector<std::string> write_safetensors(const std::string& path, const BundleReader& checkpoint,
                                                          const SafetensorsOptions& options = {});

/// The same for tensors in memory. @throws as above, and InvalidArgumentError for a dtype that the format lacks.
TRAINHOOK_DECL void write_safetensors(const std::string& path, const std::vector<NamedTensor>& tensors,
                                      const SafetensorsOptions& options = {});

namespace detail {

/// @throws NotFoundError for what `only` or a pair of `rename` says that is the beginning of none of `names`.
TRAINHOOK_DECL void expect_used(const std::vector<std::string>& names, const std::string& only,
                                const std::vector<std::pair<std::string, std::string>>& rename);

}  // namespace detail
}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/exchange/impl/write_safetensors.ipp>
#endif
