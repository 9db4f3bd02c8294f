// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of dtype.hpp.
#pragma once

#include <trainhook/core/dtype.hpp>

#include <trainhook/core/error.hpp>

namespace trainhook {

TRAINHOOK_DECL DType dtype_from_number(std::uint64_t number) {
  if (number < 256 && detail::find_dtype(static_cast<DType>(number)) != nullptr) return static_cast<DType>(number);
  throw UnimplementedError("dtype number {} is not one that this library can hold", number);
}

}  // namespace trainhook
