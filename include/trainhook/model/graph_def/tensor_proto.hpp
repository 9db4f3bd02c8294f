// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tensors and shapes as TensorProto and TensorShapeProto messages, and from them, with checks of everything in them.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/proto/shared_messages.hpp>

namespace trainhook::detail {

static_assert(std::endian::native == std::endian::little,
              "tensors are written as they lie in memory, which the formats want little-endian");

[[nodiscard]] TRAINHOOK_DECL TensorShapeMessage shape_message(const PartialShape& shape);

/// The message points into the tensor. A tensor of equal elements is stored as one element, as in TensorFlow.
/// @throws UnimplementedError for a dtype that a TensorProto cannot hold.
[[nodiscard]] TRAINHOOK_DECL TensorMessage tensor_message(const Tensor& tensor);

/// The message of a tensor of zeros or of empty strings, which need not be in memory for that.
[[nodiscard]] TRAINHOOK_DECL TensorMessage zeros_message(DType dtype, const Shape& shape);

/// The elements that the message points to as a whole; empty for strings and if one element stands for all.
[[nodiscard]] TRAINHOOK_DECL std::string_view tensor_content(const Tensor& tensor);

/// Limits the memory that the constants of one file take beyond the file's size, for example by zeros of a large shape,
/// to the largest size of a protobuf.
class FillBudget {
 public:
  /// @throws DataLossError, naming `what`, if the budget is used up.
  TRAINHOOK_DECL void take(std::uint64_t bytes, std::string_view what);

 private:
  static constexpr std::uint64_t kBytes = std::uint64_t{1} << 31U;
  std::uint64_t left_ = kBytes;
};

// In all of these, `what` names the file in errors.

/// Converts a DataType; a reference dtype counts as the dtype it refers to. @throws UnimplementedError for a dtype that
/// this library lacks.
[[nodiscard]] TRAINHOOK_DECL DType read_dtype(std::uint64_t number, std::string_view what);

/// @throws DataLossError for a dimension below -1, UnimplementedError for more dimensions than `kMaxRank`.
[[nodiscard]] TRAINHOOK_DECL PartialShape read_shape(const TensorShapeMessage& message, std::string_view what);

/// @throws DataLossError for a message that is no tensor, UnimplementedError for one that this library cannot
/// represent.
[[nodiscard]] TRAINHOOK_DECL Tensor read_tensor(const TensorMessage& message, std::string_view what,
                                                FillBudget& budget);

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/model/graph_def/impl/tensor_proto.ipp>
#endif
