// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tensor: a value with dtype, shape and a shared row-major buffer that is copied when written through.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <trainhook/core/buffer.hpp>
#include <trainhook/core/dtype.hpp>
#include <trainhook/core/format.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/shape.hpp>

namespace trainhook {

/// A dense tensor. Copying one copies a handle; writing through a shared handle first gives it a buffer of its own, so
/// that every copy keeps the value it had. Scalars of a fixed size live inside the handle and never allocate. Buffers
/// are aligned to 64 bytes and row-major. Two threads may use two handles of one buffer; one handle is for one thread
/// at a time.
class Tensor {
 public:
  /// No value: dtype `Invalid`. What a run gives for an Operation.
  Tensor() noexcept = default;

  /// Zeros (empty strings) of the given shape.
  Tensor(DType dtype, const Shape& shape) : Tensor(uninitialized(dtype, shape)) {
    if (dtype != DType::String) std::ranges::fill(raw_bytes(), std::byte{0});
  }

  /// A scalar.
  template <TensorElement T>
    requires(!std::same_as<T, std::string>)
  Tensor(T value) noexcept : dtype_(dtype_of<T>) {
    std::memcpy(inline_, &value, sizeof value);
  }
  Tensor(std::string_view value) : Tensor(DType::String, Shape{}) { buffer_.strings()[0] = value; }
  Tensor(const std::string& value) : Tensor(std::string_view(value)) {}
  Tensor(const char* value) : Tensor(std::string_view(value)) {}

  /// Elements of any value, for a caller who writes all of them. Strings are always empty ones.
  [[nodiscard]] static Tensor uninitialized(DType dtype, const Shape& shape) {
    if (detail::find_dtype(dtype) == nullptr) throw InvalidArgumentError("a tensor needs a dtype that it can hold");
    Tensor tensor;
    tensor.dtype_ = dtype;
    tensor.shape_ = shape;
    if (!tensor.is_inline()) tensor.buffer_ = tensor.new_buffer();
    return tensor;
  }

  /// A copy of `values` in row-major order. @throws InvalidArgumentError unless `shape` has as many elements.
  template <TensorElement T>
  [[nodiscard]] static Tensor copy_of(std::span<const T> values, const Shape& shape) {
    if (static_cast<std::uint64_t>(shape.num_elements()) != values.size()) {
      throw InvalidArgumentError("{} values do not fill shape {}", values.size(), shape);
    }
    Tensor tensor = uninitialized(dtype_of<T>, shape);
    std::ranges::copy(values, tensor.overwrite_data<T>().begin());
    return tensor;
  }

  /// `Tensor::of<float>({1, 2, 3})` is a vector, `Tensor::of<float>({1, 2, 3, 4}, {2, 2})` a matrix.
  template <TensorElement T>
  [[nodiscard]] static Tensor of(std::initializer_list<T> values) {
    return copy_of(std::span<const T>(values.begin(), values.size()), Shape{static_cast<std::int64_t>(values.size())});
  }
  template <TensorElement T>
  [[nodiscard]] static Tensor of(std::initializer_list<T> values, const Shape& shape) {
    return copy_of(std::span<const T>(values.begin(), values.size()), shape);
  }

  [[nodiscard]] DType dtype() const noexcept { return dtype_; }
  [[nodiscard]] const Shape& shape() const noexcept { return shape_; }
  [[nodiscard]] bool has_value() const noexcept { return dtype_ != DType::Invalid; }
  [[nodiscard]] std::int64_t num_elements() const noexcept { return has_value() ? shape_.num_elements() : 0; }

  /// Bytes of a fixed-size dtype; 0 for strings.
  [[nodiscard]] std::size_t byte_size() const noexcept {
    return static_cast<std::size_t>(num_elements()) * dtype_size(dtype_);
  }

  /// The elements to read. @throws InvalidArgumentError where the dtype is another one.
  template <TensorElement T>
  [[nodiscard]] std::span<const T> data() const {
    expect_dtype(dtype_of<T>);
    if constexpr (std::is_same_v<T, std::string>) {
      return buffer_.strings();
    } else {
      return {reinterpret_cast<const T*>(raw()), static_cast<std::size_t>(num_elements())};
    }
  }

  /// The elements to change: copies them first where another handle shares the buffer.
  template <TensorElement T>
  [[nodiscard]] std::span<T> mutable_data() {
    expect_dtype(dtype_of<T>);
    make_unique(true);
    return writable<T>();
  }

  /// The elements to write anew, every one of them: a shared buffer is swapped for another without copying.
  template <TensorElement T>
  [[nodiscard]] std::span<T> overwrite_data() {
    expect_dtype(dtype_of<T>);
    make_unique(false);
    return writable<T>();
  }

  /// The elements as they are and the place for those they become, in one pass from one to the other: the same memory
  /// where no other handle shares it, else memory of this handle's own that holds nothing yet, which saves the copy.
  template <TensorElement T>
    requires(!std::is_same_v<T, std::string>)
  struct Update {
    std::span<const T> from;
    std::span<T> to;
    detail::Buffer held;  // keeps `from` alive
  };
  template <TensorElement T>
  [[nodiscard]] Update<T> update_data() {
    expect_dtype(dtype_of<T>);
    detail::Buffer shared;
    if (!is_unique()) shared = buffer_;
    const std::span<T> to = overwrite_data<T>();
    const T* from = shared ? reinterpret_cast<const T*>(shared.bytes()) : to.data();
    return {{from, to.size()}, to, std::move(shared)};
  }

  /// The elements as bytes. @throws InvalidArgumentError for strings.
  [[nodiscard]] std::span<const std::byte> bytes() const {
    expect_bytes();
    return {raw(), byte_size()};
  }
  [[nodiscard]] std::span<std::byte> mutable_bytes() {
    expect_bytes();
    make_unique(true);
    return raw_bytes();
  }
  [[nodiscard]] std::span<std::byte> overwrite_bytes() {
    expect_bytes();
    make_unique(false);
    return raw_bytes();
  }

  /// The only element. @throws InvalidArgumentError where there is not exactly one, or the dtype is another.
  template <TensorElement T>
  [[nodiscard]] T scalar() const {
    const std::span<const T> elements = data<T>();
    if (elements.size() != 1) throw InvalidArgumentError("a tensor of shape {} is not a single value", shape_);
    return elements[0];
  }

  /// The same elements under another shape, sharing the buffer. @throws InvalidArgumentError where the counts differ.
  [[nodiscard]] Tensor reshaped(const Shape& shape) const {
    if (shape.num_elements() != num_elements()) throw InvalidArgumentError("shape {} cannot become {}", shape_, shape);
    if (shape == shape_) return *this;
    Tensor result;
    result.dtype_ = dtype_;
    result.shape_ = shape;
    if (!is_inline() && !result.is_inline()) {
      result.buffer_ = buffer_;
    } else {  // between a boxed single element and one inside the handle
      if (!result.is_inline()) result.buffer_ = result.new_buffer();
      std::memcpy(result.raw(), raw(), byte_size());
    }
    return result;
  }

  /// Whether no other handle shares the elements, so that writing copies nothing.
  [[nodiscard]] bool is_unique() const noexcept { return is_inline() || buffer_.is_unique(); }

  /// Makes this a tensor of `dtype` and `shape` whose elements the caller then overwrites; keeps the buffer where it is
  /// unshared and large enough.
  void reset_to(DType dtype, const Shape& shape) {
    if (dtype_ == dtype && shape_ == shape && is_unique()) return;
    const std::size_t needed = bytes_needed(dtype, shape);
    const bool keeps = dtype != DType::String && dtype_ != DType::String && buffer_ && buffer_.is_unique() &&
                       buffer_.capacity() >= needed;
    if (!keeps) {
      *this = uninitialized(dtype, shape);
      return;
    }
    dtype_ = dtype;
    shape_ = shape;  // a scalar lives in the handle, its buffer stays for the next larger value
  }

  /// Same dtype, shape and bits: NaN equals itself, 0.0 is not -0.0.
  friend bool operator==(const Tensor& a, const Tensor& b) {
    if (a.dtype_ != b.dtype_ || a.shape_ != b.shape_) return false;
    if (a.dtype_ == DType::String) return std::ranges::equal(a.data<std::string>(), b.data<std::string>());
    return a.byte_size() == 0 || std::memcmp(a.raw(), b.raw(), a.byte_size()) == 0;
  }

  /// Dtype, shape and elements for people: `float32[2,2] [[1 2] [3 4]]`, `int32[] 7`, `string[] "a"`; of a large tensor
  /// the first and last elements of each dimension, `int32[1000] [0 1 2 ... 997 998 999]`. fmt prints the same.
  [[nodiscard]] TRAINHOOK_DECL std::string to_string() const;

 private:
  [[nodiscard]] bool is_inline() const noexcept { return shape_.rank() == 0 && dtype_ != DType::String; }
  [[nodiscard]] const std::byte* raw() const noexcept { return is_inline() ? inline_ : buffer_.bytes(); }
  [[nodiscard]] std::byte* raw() noexcept { return is_inline() ? inline_ : buffer_.bytes(); }
  [[nodiscard]] std::span<std::byte> raw_bytes() noexcept { return {raw(), byte_size()}; }

  template <class T>
  [[nodiscard]] std::span<T> writable() noexcept {
    if constexpr (std::is_same_v<T, std::string>) {
      return buffer_.strings();
    } else {
      return {reinterpret_cast<T*>(raw()), static_cast<std::size_t>(num_elements())};
    }
  }

  [[nodiscard]] detail::Buffer new_buffer() const {
    if (dtype_ == DType::String) return detail::Buffer::of_strings(static_cast<std::size_t>(shape_.num_elements()));
    return detail::Buffer::of_bytes(bytes_needed(dtype_, shape_));
  }

  /// A shape from a file may count elements up to 63 bits; their bytes may be more than memory can be.
  [[nodiscard]] static std::size_t bytes_needed(DType dtype, const Shape& shape) {
    std::size_t bytes = 0;
    if (__builtin_mul_overflow(static_cast<std::size_t>(shape.num_elements()), dtype_size(dtype), &bytes)) {
      throw ResourceExhaustedError("no memory for a tensor {}{}", dtype, shape);
    }
    return bytes;
  }

  void make_unique(bool keep_elements) {
    if (is_unique()) return;
    detail::Buffer fresh = new_buffer();
    if (keep_elements) {
      if (dtype_ == DType::String) {
        std::ranges::copy(buffer_.strings(), fresh.strings().begin());
      } else {
        std::memcpy(fresh.bytes(), buffer_.bytes(), byte_size());
      }
    }
    buffer_ = std::move(fresh);
  }

  void expect_dtype(DType wanted) const {
    if (dtype_ != wanted) throw InvalidArgumentError("the tensor holds {}, not {}", dtype_, wanted);
  }
  void expect_bytes() const {
    if (dtype_ == DType::String)
      throw InvalidArgumentError("a string tensor has no flat bytes; use data<std::string>()");
  }

  Shape shape_;
  DType dtype_ = DType::Invalid;
  alignas(16) std::byte inline_[16] = {};
  detail::Buffer buffer_;
};

/// A tensor and what it is called: an entry of a snapshot or a checkpoint.
struct NamedTensor {
  std::string name;
  Tensor tensor;
};

}  // namespace trainhook

template <>
struct fmt::formatter<trainhook::Tensor> : trainhook::detail::ToStringFormatter<trainhook::Tensor> {};

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/core/impl/tensor.ipp>
#endif
