// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/torch/tensors.hpp>

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/utils.h>

#include <trainhook/core/error.hpp>
#include <trainhook/core/shape.hpp>

namespace trainhook::libtorch {

inline constexpr std::array<std::pair<::torch::ScalarType, DType>, 12> kSameElements{{
    {::torch::kFloat, DType::Float},
    {::torch::kDouble, DType::Double},
    {::torch::kHalf, DType::Half},
    {::torch::kBFloat16, DType::BFloat16},
    {::torch::kByte, DType::UInt8},
    {::torch::kChar, DType::Int8},
    {::torch::kShort, DType::Int16},
    {::torch::kInt, DType::Int32},
    {::torch::kLong, DType::Int64},
    {::torch::kBool, DType::Bool},
    {::torch::kComplexFloat, DType::Complex64},
    {::torch::kComplexDouble, DType::Complex128},
}};

std::optional<DType> find_dtype(::torch::ScalarType type) noexcept {
  for (const auto& [theirs, ours] : kSameElements) {
    if (theirs == type) return ours;
  }
  return std::nullopt;
}

DType dtype_of(::torch::ScalarType type, std::string_view what) {
  if (const std::optional<DType> dtype = find_dtype(type)) return *dtype;
  throw UnimplementedError(
      "{} has LibTorch's dtype {}, which no tensor of this library has; convert it, or save it as state", what,
      ::torch::toString(type));
}

::torch::ScalarType scalar_type_of(DType dtype) {
  for (const auto& [theirs, ours] : kSameElements) {
    if (ours == dtype) return theirs;
  }
  throw UnimplementedError("LibTorch has no dtype {}", dtype);
}

// The memory as a tensor of LibTorch; it must outlive the result.
inline ::torch::Tensor blob(const void* memory, const Shape& shape, ::torch::ScalarType type) {
  const std::span<const std::int64_t> dims = shape.dims();
  return ::torch::from_blob(const_cast<void*>(memory), ::torch::IntArrayRef(dims.data(), dims.size()), type);
}

Tensor to_tensor(const ::torch::Tensor& tensor) {
  if (!tensor.defined()) throw InvalidArgumentError("to_tensor: the tensor is undefined");
  const ::torch::IntArrayRef sizes = tensor.sizes();
  Tensor copy = Tensor::uninitialized(dtype_of(tensor.scalar_type(), "a tensor"),
                                      Shape(std::span<const std::int64_t>(sizes.data(), sizes.size())));
  const ::torch::NoGradGuard no_grad;
  blob(copy.overwrite_bytes().data(), copy.shape(), tensor.scalar_type()).copy_(tensor);
  return copy;
}

::torch::Tensor from_tensor(const Tensor& tensor) {
  return blob(tensor.bytes().data(), tensor.shape(), scalar_type_of(tensor.dtype())).clone();
}

::torch::Tensor view_of(const Tensor& tensor) {
  const std::span<const std::int64_t> dims = tensor.shape().dims();
  auto kept = std::make_shared<const Tensor>(tensor);
  return ::torch::from_blob(
      const_cast<std::byte*>(kept->bytes().data()), ::torch::IntArrayRef(dims.data(), dims.size()), [kept](void*) {},
      scalar_type_of(tensor.dtype()));
}

namespace detail {

std::function<Tensor()> snapshot_of(const ::torch::Tensor& tensor, Snapshots where) {
  if (where == Snapshots::OnHost || !tensor.defined() || tensor.device().is_cpu()) return {};
  struct Copy {
    ::torch::Tensor values;
    ::c10::Event made;
  };
  try {
    const ::torch::NoGradGuard no_grad;
    const ::c10::impl::VirtualGuardImpl device(tensor.device().type());
    // Contiguous, so that the copy to the host needs no memory of the device.
    const std::shared_ptr<Copy> copy(
        new Copy{tensor.clone(::torch::MemoryFormat::Contiguous), ::c10::Event(device.type())});
    copy->made.record(device.getStream(tensor.device()));
    return [copy, device] {  // the stream of another thread may be another one
      copy->made.block(device.getStream(copy->values.device()));
      return to_tensor(copy->values);
    };
  } catch (const ::c10::Error&) {  // such as too little memory
    return {};
  }
}

}  // namespace detail
}  // namespace trainhook::libtorch
