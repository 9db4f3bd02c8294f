// SPDX-License-Identifier: Apache-2.0
/// @file
/// The memory behind tensors: counted by every handle, returned to a pool when the last one goes.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <trainhook/core/error.hpp>

namespace trainhook::detail {

inline constexpr std::size_t kBufferAlignment = 64;

/// Stands before the elements of a buffer, in a cache line of its own.
struct alignas(kBufferAlignment) BufferHeader {
  std::atomic<std::uint32_t> count{1};
  std::size_t capacity = 0;      // bytes behind the header
  std::size_t string_count = 0;  // constructed std::string objects behind the header
};

/// Where buffers come from. Keeps large freed blocks warm, because fresh pages cost more than copying into them, but
/// together with those in use never more bytes than were in use at once. Small blocks are malloc's own business.
class BufferPool {
 public:
  static constexpr std::size_t kSmallest = 64 * 1024;
  static constexpr std::size_t kMostBlocks = 64;

  static BufferPool& instance() {
    static BufferPool* pool = new BufferPool;  // never destroyed: tensors with static storage may outlive it
    return *pool;
  }

  BufferPool() = default;
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;
  ~BufferPool() {
    while (size_ > 0) release_last();
  }

  /// Null where there is no memory.
  [[nodiscard]] void* allocate(std::size_t bytes) noexcept {
    if (bytes >= kSmallest) {
      const std::scoped_lock lock(mutex_);
      if (void* kept = take(bytes)) return kept;
      while (size_ > 0 && kept_ + used_ + bytes > most_used_) release_last();
    }
    void* memory = ::operator new(bytes, std::align_val_t{kBufferAlignment}, std::nothrow);
    if (memory != nullptr && bytes >= kSmallest) {
      const std::scoped_lock lock(mutex_);
      used_ += bytes;
      most_used_ = (std::max)(most_used_, used_);
    }
    return memory;
  }

  void free(void* memory, std::size_t bytes) noexcept {
    if (bytes < kSmallest || !keep(memory, bytes)) ::operator delete(memory, std::align_val_t{kBufferAlignment});
  }

 private:
  struct Block {
    void* memory;
    std::size_t bytes;
  };

  void* take(std::size_t bytes) noexcept {
    for (std::size_t i = size_; i-- > 0;) {
      if (blocks_[i].bytes != bytes) continue;
      std::swap(blocks_[i], blocks_[size_ - 1]);
      used_ += bytes;
      return remove_last();
    }
    return nullptr;
  }

  void* remove_last() noexcept {
    kept_ -= blocks_[--size_].bytes;
    return blocks_[size_].memory;
  }

  void release_last() noexcept { ::operator delete(remove_last(), std::align_val_t{kBufferAlignment}); }

  bool keep(void* memory, std::size_t bytes) noexcept {
    const std::scoped_lock lock(mutex_);
    used_ -= bytes;
    if (size_ == kMostBlocks) return false;
    blocks_[size_++] = {memory, bytes};
    kept_ += bytes;
    return true;
  }

  std::mutex mutex_;
  Block blocks_[kMostBlocks] = {};
  std::size_t size_ = 0;
  std::size_t used_ = 0;       // bytes of large blocks that buffers have
  std::size_t most_used_ = 0;  // at once
  std::size_t kept_ = 0;       // bytes that wait here
};

/// A counted handle of elements. The count is released on drop and acquired by `is_unique`, so that whoever finds
/// itself alone also sees what the others wrote.
class Buffer {
 public:
  Buffer() noexcept = default;
  Buffer(const Buffer& other) noexcept : header_(other.header_) {
    if (header_ != nullptr) header_->count.fetch_add(1, std::memory_order_relaxed);
  }
  Buffer(Buffer&& other) noexcept : header_(std::exchange(other.header_, nullptr)) {}
  Buffer& operator=(const Buffer& other) noexcept {
    Buffer(other).swap(*this);
    return *this;
  }
  Buffer& operator=(Buffer&& other) noexcept {
    Buffer(std::move(other)).swap(*this);
    return *this;
  }
  ~Buffer() { release(); }

  [[nodiscard]] static Buffer of_bytes(std::size_t size) { return Buffer(allocate(size)); }

  [[nodiscard]] static Buffer of_strings(std::size_t count) {
    if (count > (std::numeric_limits<std::size_t>::max)() / 2 / sizeof(std::string))
      throw ResourceExhaustedError("no memory for {} strings", count);
    Buffer buffer(allocate(count * sizeof(std::string)));
    std::uninitialized_value_construct_n(reinterpret_cast<std::string*>(buffer.header_ + 1), count);
    buffer.header_->string_count = count;
    return buffer;
  }

  explicit operator bool() const noexcept { return header_ != nullptr; }
  [[nodiscard]] bool is_unique() const noexcept {
    return header_ != nullptr && header_->count.load(std::memory_order_acquire) == 1;
  }
  [[nodiscard]] std::size_t capacity() const noexcept { return header_ == nullptr ? 0 : header_->capacity; }
  [[nodiscard]] std::byte* bytes() const noexcept { return reinterpret_cast<std::byte*>(header_ + 1); }
  [[nodiscard]] std::span<std::string> strings() const noexcept {
    return {std::launder(reinterpret_cast<std::string*>(header_ + 1)), header_->string_count};
  }
  void swap(Buffer& other) noexcept { std::swap(header_, other.header_); }

 private:
  explicit Buffer(BufferHeader* header) noexcept : header_(header) {}

  static BufferHeader* allocate(std::size_t size) {
    constexpr std::size_t kLargest = (std::numeric_limits<std::size_t>::max)() / 2;
    if (size > kLargest) throw ResourceExhaustedError("no memory for a tensor of {} bytes", size);
    const std::size_t capacity = (size + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
    void* memory = BufferPool::instance().allocate(sizeof(BufferHeader) + capacity);
    if (memory == nullptr) throw ResourceExhaustedError("no memory for a tensor of {} bytes", size);
    auto* header = ::new (memory) BufferHeader;
    header->capacity = capacity;
    return header;
  }

  void release() noexcept {
    if (header_ == nullptr || header_->count.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    std::destroy_n(reinterpret_cast<std::string*>(header_ + 1), header_->string_count);
    const std::size_t bytes = sizeof(BufferHeader) + header_->capacity;
    header_->~BufferHeader();
    BufferPool::instance().free(header_, bytes);
  }

  BufferHeader* header_ = nullptr;
};

}  // namespace trainhook::detail
