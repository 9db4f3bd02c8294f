// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tensor: a value with dtype, shape and a shared row-major buffer, copied on write.
#pragma once

#include <concepts>
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
#include <trainhook/core/refusal.hpp>
#include <trainhook/core/shape.hpp>

namespace trainhook {

/// A dense tensor. Copying one copies a handle; writing through a handle whose buffer is shared first copies the
/// buffer, so that other handles keep their value. Scalars of a fixed size live inside the handle and never allocate.
/// Buffers are aligned to 64 bytes and row-major. Threads may use different handles of one buffer at once, but not the
/// same handle.
class Tensor {
 public:
  /// No value: dtype `Invalid`. A run returns one for an Operation.
  Tensor() noexcept = default;

  /// Zeros, or empty strings, of the given shape. @throws InvalidArgumentError for `DType::Invalid`.
  TRAINHOOK_DECL Tensor(DType dtype, const Shape& shape);

  /// A scalar.
  template <TensorElement T>
    requires(!std::same_as<T, std::string>)
  Tensor(T value) noexcept : dtype_(dtype_of<T>) {
    std::memcpy(inline_, &value, sizeof value);
  }
  TRAINHOOK_DECL Tensor(std::string_view value);
  Tensor(const std::string& value) : Tensor(std::string_view(value)) {}
  Tensor(const char* value) : Tensor(std::string_view(value)) {}

  TRAINHOOK_MISTAKE(
      "a tensor has no such elements, or needs a shape for them: write Tensor::copy_of(std::span<const float>(values), "
      "shape) for a range, std::int8_t or std::uint8_t for char",
      class Other)
  explicit Tensor(const Other& other)
    requires(!std::derived_from<Other, Tensor> && !std::is_convertible_v<const Other&, Tensor>)  // not a static_cast
  TRAINHOOK_REFUSED;

  /// Elements of unspecified value, for a caller that overwrites all of them. Strings are empty.
  [[nodiscard]] static Tensor uninitialized(DType dtype, const Shape& shape) {
    if (detail::find_dtype(dtype) == nullptr) throw_no_dtype();
    Tensor tensor;
    tensor.dtype_ = dtype;
    tensor.shape_ = shape;
    if (!tensor.is_inline()) tensor.buffer_ = tensor.new_buffer();
    return tensor;
  }

  /// A copy of `values` in row-major order. @throws InvalidArgumentError if `shape` has another number of elements.
  template <TensorElement T>
  [[nodiscard]] static Tensor copy_of(std::span<const T> values, const Shape& shape) {
    if (static_cast<std::uint64_t>(shape.num_elements()) != values.size()) throw_count(values.size(), shape);
    Tensor tensor = uninitialized(dtype_of<T>, shape);
    const std::span<T> elements = tensor.overwrite_data<T>();
    for (std::size_t i = 0; i < values.size(); ++i) elements[i] = values[i];
    return tensor;
  }

  TRAINHOOK_MISTAKE("the values are a span of constants: write Tensor::copy_of(std::span<const float>(values), shape)",
                    class Values)
  static Tensor copy_of(const Values& values, const Shape& shape)
    requires requires {
      values.data();
      values.size();
    }
  TRAINHOOK_REFUSED;

  /// `Tensor::of<float>({1, 2, 3})` is a vector, `Tensor::of<float>({1, 2, 3, 4}, {2, 2})` a matrix.
  template <TensorElement T>
  [[nodiscard]] static Tensor of(std::initializer_list<T> values) {
    return copy_of(std::span<const T>(values.begin(), values.size()), Shape{static_cast<std::int64_t>(values.size())});
  }
  template <TensorElement T>
  [[nodiscard]] static Tensor of(std::initializer_list<T> values, const Shape& shape) {
    return copy_of(std::span<const T>(values.begin(), values.size()), shape);
  }

  TRAINHOOK_MISTAKE(
      "a tensor, like a checkpoint, has numbers, bool, std::string and complex numbers as elements, nothing else: "
      "use float, std::int64_t, std::uint8_t, ...",
      class Element)
  static Tensor of(std::initializer_list<Element> values, const Shape& shape = {})
    requires(!TensorElement<Element>)
  TRAINHOOK_REFUSED;

  [[nodiscard]] DType dtype() const noexcept { return dtype_; }
  [[nodiscard]] const Shape& shape() const noexcept { return shape_; }
  [[nodiscard]] bool has_value() const noexcept { return dtype_ != DType::Invalid; }
  [[nodiscard]] std::int64_t num_elements() const noexcept { return has_value() ? shape_.num_elements() : 0; }

  /// Bytes of a fixed-size dtype; 0 for strings.
  [[nodiscard]] std::size_t byte_size() const noexcept {
    return static_cast<std::size_t>(num_elements()) * dtype_size(dtype_);
  }

  /// The elements, for reading. @throws InvalidArgumentError if the tensor has another dtype.
  template <TensorElement T>
  [[nodiscard, gnu::always_inline]] std::span<const T> data() const {
    expect_dtype(dtype_of<T>);
    if constexpr (std::is_same_v<T, std::string>) {
      return buffer_.strings();
    } else {
      return std::span<const T>(reinterpret_cast<const T*>(raw()), static_cast<std::size_t>(num_elements()));
    }
  }

  /// The elements, for changing. They are copied first if another handle shares the buffer.
  template <TensorElement T>
  [[nodiscard]] std::span<T> mutable_data() {
    expect_dtype(dtype_of<T>);
    make_unique(true);
    return writable<T>();
  }

  /// The elements, for overwriting all of them: a shared buffer is replaced without copying.
  template <TensorElement T>
  [[nodiscard]] std::span<T> overwrite_data() {
    expect_dtype(dtype_of<T>);
    make_unique(false);
    return writable<T>();
  }

  /// The old elements and space for new ones, for a pass that computes the new from the old. Both are the same memory
  /// unless another handle shares the buffer; then `to` is a new buffer, and no element is copied.
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

  /// The only element. @throws InvalidArgumentError unless there is exactly one, of this dtype.
  template <TensorElement T>
  [[nodiscard]] T scalar() const {
    const std::span<const T> elements = data<T>();
    if (elements.size() != 1) throw_not_single();
    return elements[0];
  }

  /// The same elements under another shape, sharing the buffer. @throws InvalidArgumentError if the numbers of elements
  /// differ.
  [[nodiscard]] TRAINHOOK_DECL Tensor reshaped(const Shape& shape) const;

  /// Whether no other handle shares the elements, so that writing copies nothing.
  [[nodiscard]] bool is_unique() const noexcept { return is_inline() || buffer_.is_unique(); }

  /// Makes this a tensor of `dtype` and `shape`, whose elements the caller then overwrites. Keeps the buffer if it is
  /// not shared and large enough.
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
    shape_ = shape;  // a scalar lives in the handle; the buffer stays for the next larger value
  }

  /// Same dtype, shape and bits: NaN equals itself, and 0.0 differs from -0.0.
  friend bool operator==(const Tensor& a, const Tensor& b) { return a.equals(b); }

  /// Dtype, shape and elements: `float32[2,2] [[1 2] [3 4]]`, `int32[] 7`, `string[] "a"`; a large tensor shows only
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
      return std::span<T>(reinterpret_cast<T*>(raw()), static_cast<std::size_t>(num_elements()));
    }
  }

  [[nodiscard]] detail::Buffer new_buffer() const {
    if (dtype_ != DType::String) return detail::Buffer::of_bytes(bytes_needed(dtype_, shape_));
    if (!std::in_range<std::size_t>(shape_.num_elements())) throw_too_large(dtype_, shape_);
    return detail::Buffer::of_strings(static_cast<std::size_t>(shape_.num_elements()));
  }

  /// The number of elements of a shape from a file fits 63 bits, but their bytes may not fit a size.
  [[nodiscard]] static std::size_t bytes_needed(DType dtype, const Shape& shape) {
    std::size_t bytes = 0;
    if (__builtin_mul_overflow(shape.num_elements(), dtype_size(dtype), &bytes)) throw_too_large(dtype, shape);
    return bytes;
  }

  void make_unique(bool keep_elements) {
    if (!is_unique()) replace_buffer(keep_elements);
  }
  TRAINHOOK_DECL void replace_buffer(bool keep_elements);

  [[nodiscard]] TRAINHOOK_DECL bool equals(const Tensor& other) const;

  void expect_dtype(DType wanted) const {
    if (dtype_ != wanted) throw_dtype(wanted);
  }
  void expect_bytes() const {
    if (dtype_ == DType::String) throw_no_bytes();
  }

  [[noreturn]] TRAINHOOK_DECL static void throw_no_dtype();
  [[noreturn]] TRAINHOOK_DECL static void throw_count(std::size_t count, const Shape& shape);
  [[noreturn]] TRAINHOOK_DECL static void throw_too_large(DType dtype, const Shape& shape);
  [[noreturn]] TRAINHOOK_DECL void throw_dtype(DType wanted) const;
  [[noreturn]] TRAINHOOK_DECL void throw_no_bytes() const;
  [[noreturn]] TRAINHOOK_DECL void throw_not_single() const;

  Shape shape_;
  DType dtype_ = DType::Invalid;
  alignas(16) std::byte inline_[16] = {};
  detail::Buffer buffer_;
};

/// A named tensor: an entry of a snapshot or a checkpoint.
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
