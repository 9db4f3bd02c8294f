// SPDX-License-Identifier: Apache-2.0
/// @file
/// The TensorShapeProto message of checkpoints, events and graphs.
#pragma once

#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/proto/message.hpp>

namespace trainhook::detail {

/// One dimension.
struct TensorDimMessage {
  std::int64_t size = 0;
};
template <>
inline constexpr auto kFields<TensorDimMessage> = std::tuple(field(1, "size", &TensorDimMessage::size));

struct TensorShapeMessage {
  std::vector<TensorDimMessage> dim{};
  bool unknown_rank = false;
};
template <>
inline constexpr auto kFields<TensorShapeMessage> =
    std::tuple(field(2, "dim", &TensorShapeMessage::dim), field(3, "unknown_rank", &TensorShapeMessage::unknown_rank));

[[nodiscard]] TRAINHOOK_DECL TensorShapeMessage shape_message(std::span<const std::int64_t> dims);

/// The sizes of all dimensions, including negative ones; empty for an unknown rank, too, as for a scalar.
[[nodiscard]] TRAINHOOK_DECL std::vector<std::int64_t> dims_of(const TensorShapeMessage& shape);

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/proto/impl/tensor_shape_proto.ipp>
#endif
