// SPDX-License-Identifier: Apache-2.0
/// @file
/// Conversions between tensors of LibTorch and of this library.
#pragma once

#include <functional>
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

/// Where saves in the background first copy values that are on a device. On the CPU it makes no difference.
enum class Snapshots {
  OnHost,    ///< training goes on when they are on the host
  OnDevice,  ///< training goes on when they are copied on the device, which takes their memory there once more for each
             ///< save that is not written yet; on the host if there is no room
};

/// A copy of the values on the CPU.
[[nodiscard]] TRAINHOOK_DECL ::torch::Tensor from_tensor(const Tensor& tensor);

/// The values without a copy: the result keeps the memory of `tensor` alive and must not be written to.
[[nodiscard]] TRAINHOOK_DECL ::torch::Tensor view_of(const Tensor& tensor);

namespace detail {

/// Copies the values on their device, behind what is enqueued there, and returns a function that brings the copy to the
/// host, on any thread. Empty if `where` is the host or the device has no room.
[[nodiscard]] TRAINHOOK_DECL std::function<Tensor()> snapshot_of(const ::torch::Tensor& tensor, Snapshots where);

}  // namespace detail
}  // namespace trainhook::libtorch

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/torch/impl/tensors.ipp>
#endif
