// SPDX-License-Identifier: Apache-2.0
/// @file
/// The memory behind tensors: each handle counts, and the last one returns the memory to a pool.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <string>
#include <utility>

#include <trainhook/core/linkage.hpp>

namespace trainhook::detail {

inline constexpr std::size_t kBufferAlignment = 64;

/// Placed before the elements of a buffer, in a cache line of its own. The count uses the compiler's atomic builtins:
/// `<atomic>` would be a tenth of the cost of including Tensor.
struct alignas(kBufferAlignment) BufferHeader {
  std::uint32_t count = 1;
  std::size_t capacity = 0;      // bytes behind the header
  std::size_t string_count = 0;  // constructed std::string objects behind the header
};

/// A counted handle of elements. Dropping a handle releases the count and `is_unique` acquires it, so the last handle
/// sees everything that others wrote.
class Buffer {
 public:
  Buffer() noexcept = default;
  Buffer(const Buffer& other) noexcept : header_(other.header_) {
    if (header_ != nullptr) __atomic_fetch_add(&header_->count, 1U, __ATOMIC_RELAXED);
  }
  Buffer(Buffer&& other) noexcept : header_(std::exchange(other.header_, nullptr)) {}
  Buffer& operator=(const Buffer& other) noexcept {
    Buffer(other).swap(*this);
    return *this;
  }
  Buffer& operator=(Buffer&& other) noexcept {
    Buffer taken(std::move(other));
    taken.swap(*this);
    return *this;
  }
  ~Buffer() { release(); }

  [[nodiscard]] static Buffer of_bytes(std::size_t size) { return Buffer(allocate(size)); }

  [[nodiscard]] TRAINHOOK_DECL static Buffer of_strings(std::size_t count);

  explicit operator bool() const noexcept { return header_ != nullptr; }
  [[nodiscard]] bool is_unique() const noexcept {
    return header_ != nullptr && __atomic_load_n(&header_->count, __ATOMIC_ACQUIRE) == 1;
  }
  [[nodiscard]] std::size_t capacity() const noexcept { return header_ == nullptr ? 0 : header_->capacity; }
  [[nodiscard]] std::byte* bytes() const noexcept { return reinterpret_cast<std::byte*>(header_ + 1); }
  [[nodiscard]] std::span<std::string> strings() const noexcept {
    return {std::launder(reinterpret_cast<std::string*>(header_ + 1)), header_->string_count};
  }
  void swap(Buffer& other) noexcept { std::swap(header_, other.header_); }

 private:
  explicit Buffer(BufferHeader* header) noexcept : header_(header) {}

  [[nodiscard]] TRAINHOOK_DECL static BufferHeader* allocate(std::size_t size);
  TRAINHOOK_DECL static void destroy(BufferHeader* header) noexcept;

  void release() noexcept {
    if (header_ != nullptr && __atomic_fetch_sub(&header_->count, 1U, __ATOMIC_ACQ_REL) == 1) destroy(header_);
  }

  BufferHeader* header_ = nullptr;
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/core/impl/buffer.ipp>
#endif
