// SPDX-License-Identifier: Apache-2.0
/// @file
/// The keys of the slices of a partitioned variable in a checkpoint's index, in an encoding that sorts
/// as its parts do:
///
///     number 0, string name, number rank, then for each dimension: signed start, signed length (-1: all of it)
///
///     number   n:u8 and n bytes, most significant first, n as small as may be
///     string   its bytes, NUL as 00 ff and ff as ff 00, then 00 01
///     signed   two's complement in n bytes, most significant first; n high bits, flipped by the sign, say how many
///     there are
///
/// Such a key begins with NUL, which no name does. Source: TensorFlow's `EncodeTensorNameSlice`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <trainhook/checkpoint/tensor_slice.hpp>
#include <trainhook/core/linkage.hpp>

namespace trainhook::detail {

TRAINHOOK_DECL void append_ordered_signed(std::string& key, std::int64_t value);
[[nodiscard]] TRAINHOOK_DECL std::string slice_key(std::string_view name, const TensorSlice& slice);

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/checkpoint/impl/slice_key.ipp>
#endif
