// SPDX-License-Identifier: Apache-2.0
/// @file
/// The keys of the slices of a partitioned variable in a checkpoint's index, in an encoding that preserves their order:
///
///     number 0, string name, number rank, then for each dimension: signed start, signed length (-1: all of it)
///
///     number   n:u8, then n bytes, most significant first, with the smallest possible n
///     string   its bytes, NUL as 00 ff and ff as ff 00, then 00 01
///     signed   two's complement in n bytes, most significant first; n leading bits, flipped by the sign, tell n
///
/// Such a key starts with NUL, unlike any name. Source: TensorFlow's `EncodeTensorNameSlice`.
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
