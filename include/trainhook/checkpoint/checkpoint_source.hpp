// SPDX-License-Identifier: Apache-2.0
/// @file
/// CheckpointSource: what a restore reads: the path of a checkpoint, or also how to open it.
#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/core/tensor.hpp>

namespace trainhook {

enum class BundleFiles;
class FileSystem;
class TensorSlice;

/// An open checkpoint of any format. Any number of threads may read at once.
class CheckpointContents {
 public:
  struct Entry {
    DType dtype = DType::Invalid;  ///< Invalid for one that this library lacks
    Shape shape{};
  };

  CheckpointContents() = default;
  CheckpointContents(const CheckpointContents&) = delete;
  CheckpointContents& operator=(const CheckpointContents&) = delete;
  TRAINHOOK_DECL virtual ~CheckpointContents();

  /// As it was asked for.
  [[nodiscard]] virtual const std::string& path() const noexcept = 0;

  /// Nothing if there is no tensor of that name. @throws InvalidArgumentError if the name is ambiguous.
  [[nodiscard]] virtual std::optional<Entry> find(std::string_view name) const = 0;

  /// Reads and verifies a tensor, or a region of one. @throws NotFoundError if there is none, DataLossError if it is
  /// damaged, UnimplementedError for a dtype that this library lacks.
  [[nodiscard]] virtual Tensor read(std::string_view name) const = 0;
  [[nodiscard]] virtual Tensor read(std::string_view name, const TensorSlice& region) const = 0;

  /// Reads and verifies a region of a tensor into its elements `to`, which an empty `to` does not take. A format that
  /// stores tensors in pieces holds one at a time beside them.
  TRAINHOOK_DECL virtual void read_into(std::string_view name, const TensorSlice& region,
                                        std::span<std::byte> to) const;

  /// The names that begin with `beginning`, sorted.
  [[nodiscard]] virtual std::vector<std::string> names(std::string_view beginning = {}) const = 0;

  /// Whether a restore leaves the session's state of that name as it is; a saveable of that name starts fresh.
  [[nodiscard]] virtual bool keeps_initial(std::string_view /*name*/) const { return false; }

  /// Whether this shows what one of several readers restores: what none takes is the matter of another one.
  [[nodiscard]] virtual bool is_partial() const noexcept { return false; }

  /// Says that a variable of the model is not here, and what to do. @throws NotFoundError always.
  [[noreturn]] virtual void refuse(std::string_view variable) const = 0;
};

/// Opens a checkpoint of one format. `file_system` must outlive the contents; `files` counts where there are several.
/// @throws NotFoundError if there is none, DataLossError if it is damaged or of another format.
using CheckpointFormat =
    std::function<std::unique_ptr<CheckpointContents>(const std::string& path, FileSystem& file_system, BundleFiles)>;

/// TensorFlow's V2 format, in which this library saves; `path` is without `.index`.
[[nodiscard]] TRAINHOOK_DECL std::unique_ptr<CheckpointContents> open_bundle(const std::string& path,
                                                                             FileSystem& file_system,
                                                                             BundleFiles files);

/// The path of a checkpoint, and its format if that is not the one that the reader expects.
class CheckpointSource {
 public:
  CheckpointSource() = default;  ///< no checkpoint
  /// @param path of a checkpoint, without `.index` if it is a bundle
  template <std::convertible_to<std::string> Path>
  CheckpointSource(Path&& path, CheckpointFormat own_format = nullptr)  // NOLINT(google-explicit-constructor)
      : path_(std::forward<Path>(path)), format_(std::move(own_format)) {}

  [[nodiscard]] bool empty() const noexcept { return path_.empty(); }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] const CheckpointFormat& format() const noexcept { return format_; }  ///< null: what is expected

  /// Opens it in its own format, or else in `expected` (null: as a bundle).
  [[nodiscard]] TRAINHOOK_DECL std::unique_ptr<CheckpointContents> open(const CheckpointFormat& expected,
                                                                        FileSystem& file_system,
                                                                        BundleFiles files) const;

 private:
  std::string path_;
  CheckpointFormat format_ = nullptr;
};

namespace detail {

/// As `CheckpointContents::find`, for a tensor that a restore needs. @throws UnimplementedError, which names tensor and
/// dtype, for one that this library cannot hold.
[[nodiscard]] TRAINHOOK_DECL std::optional<CheckpointContents::Entry> find_readable(const CheckpointContents& contents,
                                                                                    std::string_view name);

}  // namespace detail
}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/checkpoint/impl/checkpoint_source.ipp>
#endif
