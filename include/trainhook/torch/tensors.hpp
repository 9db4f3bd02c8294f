// SPDX-License-Identifier: Apache-2.0
/// @file
/// Conversions between tensors of LibTorch and of this library.
#pragma once

#include <optional>
#include <string_view>

#include <ATen/core/ivalue.h>  // before others of LibTorch 1.13, for clang
#include <torch/types.h>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/tensor.hpp>

namespace trainhook::libtorch {

/// The dtype of the same elements; nothing for those that this library lacks, such as quantized ones.
[[nodiscard]] TRAINHOOK_DECL std::optional<DType> find_dtype(::torch::ScalarType type) noexcept;

/// The same. @throws UnimplementedError, which names `what`, if there is none.
[[nodiscard]] TRAINHOOK_DECL DType dtype_of(::torch::ScalarType type, std::string_view what);

/// @throws UnimplementedError for strings and unsigned integers, which LibTorch 1.13 lacks.
[[nodiscard]] TRAINHOOK_DECL ::torch::ScalarType scalar_type_of(DType dtype);

/// A copy of the values, wherever they are and however they lie in memory: one copy, into row-major order on the host.
/// @throws UnimplementedError for a dtype that this library lacks, InvalidArgumentError for an undefined tensor.
[[nodiscard]] TRAINHOOK_DECL Tensor to_tensor(const ::torch::Tensor& tensor);

/// A copy of the values on the CPU.
[[nodiscard]] TRAINHOOK_DECL ::torch::Tensor from_tensor(const Tensor& tensor);

/// The values without a copy: the result keeps the memory of `tensor` alive and must not be written to.
[[nodiscard]] TRAINHOOK_DECL ::torch::Tensor view_of(const Tensor& tensor);

}  // namespace trainhook::libtorch

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/torch/impl/tensors.ipp>
#endif
