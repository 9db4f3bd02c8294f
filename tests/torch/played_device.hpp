// SPDX-License-Identifier: Apache-2.0
/// @file
/// A device that tests play, called xpu, since LibTorch has no code for it: its tensors are in memory of the host that
/// LibTorch takes for the device's. It says what is asked of it, and can be short of memory.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/ivalue.h>  // before others of LibTorch 1.13, for clang
#include <ATen/native/CPUFallback.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <fmt/format.h>
#include <torch/library.h>
#include <torch/torch.h>

namespace trainhook::libtorch {

inline const ::torch::Device kPlayed(::torch::kXPU, 0);

/// What the device was asked for, and whether it has room for further tensors.
struct PlayedDevice {
  std::vector<std::string> calls{};
  bool has_room = true;
  ::c10::StreamId stream = 0;

  std::vector<std::string> take() { return std::exchange(calls, {}); }
};
inline PlayedDevice played_device;

// The same memory as a tensor of the host.
inline ::torch::Tensor on_host(const ::torch::Tensor& tensor) {
  if (!tensor.device().is_xpu()) return tensor;
  return ::torch::from_blob(tensor.data_ptr(), tensor.sizes(), tensor.strides(),
                            ::torch::TensorOptions().dtype(tensor.scalar_type()));
}

inline ::torch::Tensor played_empty(::torch::IntArrayRef size, ::torch::IntArrayRef strides,
                                    std::optional<::torch::ScalarType> type) {
  if (!played_device.has_room) TORCH_CHECK_WITH(OutOfMemoryError, false, "the played device has no room");
  const ::torch::ScalarType dtype = type.value_or(::torch::kFloat);
  std::size_t elements = 1;
  for (std::size_t i = 0; i < size.size(); ++i)
    elements += static_cast<std::size_t>((size[i] > 0 ? size[i] - 1 : 0) * strides[i]);
  const std::size_t bytes = elements * ::c10::elementSize(dtype);
  void* const memory = ::operator new(bytes);
  ::c10::Storage storage(::c10::Storage::use_byte_size_t(), bytes,
                         ::c10::DataPtr(
                             memory, memory, [](void* given) { ::operator delete(given); }, kPlayed),
                         nullptr, /*resizable=*/false);
  ::torch::Tensor tensor = ::at::detail::make_tensor<::c10::TensorImpl>(
      std::move(storage), ::c10::DispatchKeySet(::c10::DispatchKey::XPU), ::c10::scalarTypeToTypeMeta(dtype));
  tensor.unsafeGetTensorImpl()->set_sizes_and_strides(size, strides);
  return tensor;
}

inline ::torch::Tensor played_empty_strided(::torch::IntArrayRef size, ::torch::IntArrayRef strides,
                                            ::c10::optional<::torch::ScalarType> type,
                                            ::c10::optional<::torch::Layout> /*layout*/,
                                            ::c10::optional<::torch::Device> /*device*/,
                                            ::c10::optional<bool> /*pinned*/) {
  return played_empty(size, strides, type ? std::optional(*type) : std::nullopt);
}

inline ::torch::Tensor played_empty_memory_format(::torch::IntArrayRef size, ::c10::optional<::torch::ScalarType> type,
                                                  ::c10::optional<::torch::Layout> /*layout*/,
                                                  ::c10::optional<::torch::Device> /*device*/,
                                                  ::c10::optional<bool> /*pinned*/,
                                                  ::c10::optional<::torch::MemoryFormat> format) {
  const ::torch::Tensor like = ::torch::empty(size, ::torch::TensorOptions().dtype(::torch::kByte),
                                              format ? *format : ::torch::MemoryFormat::Contiguous);
  return played_empty(size, like.strides(), type ? std::optional(*type) : std::nullopt);
}

inline ::torch::Tensor& played_copy(::torch::Tensor& to, const ::torch::Tensor& from, bool /*non_blocking*/) {
  const auto side = [](const ::torch::Tensor& tensor) { return tensor.device().is_xpu() ? "device" : "host"; };
  played_device.calls.push_back(fmt::format("copy from {} to {}", side(from), side(to)));
  on_host(to).copy_(on_host(from));
  return to;
}

inline ::torch::Tensor played_as_strided(const ::torch::Tensor& tensor, ::torch::IntArrayRef size,
                                         ::torch::IntArrayRef strides, ::c10::optional<std::int64_t> offset) {
  ::torch::Tensor view = ::at::detail::make_tensor<::c10::TensorImpl>(
      ::c10::Storage(tensor.storage()), ::c10::DispatchKeySet(::c10::DispatchKey::XPU), tensor.dtype());
  view.unsafeGetTensorImpl()->set_sizes_and_strides(size, strides);
  view.unsafeGetTensorImpl()->set_storage_offset(offset ? *offset : tensor.storage_offset());
  return view;
}

TORCH_LIBRARY_IMPL(aten, XPU, library) {
  library.impl("empty.memory_format", &played_empty_memory_format);
  library.impl("empty_strided", &played_empty_strided);
  library.impl("copy_", &played_copy);
  library.impl("as_strided", &played_as_strided);
}

/// Its streams and events.
struct PlayedGuard final : ::c10::impl::DeviceGuardImplInterface {
  using Device = ::c10::Device;
  using Stream = ::c10::Stream;

  [[nodiscard]] ::c10::DeviceType type() const override { return ::c10::DeviceType::XPU; }
  [[nodiscard]] Device exchangeDevice(Device) const override { return kPlayed; }
  [[nodiscard]] Device getDevice() const override { return kPlayed; }
  void setDevice(Device) const override {}
  void uncheckedSetDevice(Device) const noexcept override {}
  [[nodiscard]] Stream getStream(Device) const noexcept override {
    return Stream(Stream::UNSAFE, kPlayed, played_device.stream);
  }
  [[nodiscard]] Stream exchangeStream(Stream stream) const noexcept override { return stream; }
  [[nodiscard]] ::c10::DeviceIndex deviceCount() const noexcept override { return 1; }
  void record(void** event, const Stream& stream, const ::c10::DeviceIndex /*device*/,
              const ::c10::EventFlag /*flag*/) const override {
    *event = const_cast<PlayedGuard*>(this);
    played_device.calls.push_back(fmt::format("record an event in stream {}", stream.id()));
  }
  void block(void* /*event*/, const Stream& stream) const override {
    played_device.calls.push_back(fmt::format("stream {} waits for the event", stream.id()));
  }
  [[nodiscard]] bool queryEvent(void* /*event*/) const override { return true; }
  void destroyEvent(void* /*event*/, const ::c10::DeviceIndex /*device*/) const noexcept override {}
};
C10_REGISTER_GUARD_IMPL(XPU, PlayedGuard)

}  // namespace trainhook::libtorch
