// SPDX-License-Identifier: Apache-2.0
/// @file
/// BufferPool: recycles the large memory blocks of tensors.
#pragma once

#include <cstddef>
#include <mutex>

#include <trainhook/core/linkage.hpp>

namespace trainhook::detail {

/// Allocates the memory of buffers. Keeps large freed blocks for reuse, because the first touch of a new page costs
/// more than copying into it. Blocks in use and kept blocks together never take more bytes than the peak of bytes in
/// use. Small blocks go straight to the allocator. Thread-safe.
class BufferPool {
 public:
  static constexpr std::size_t kAlignment = 64;
  static constexpr std::size_t kSmallest = 64 * 1024;
  static constexpr std::size_t kMostBlocks = 64;

  [[nodiscard]] TRAINHOOK_DECL static BufferPool& instance();

  BufferPool() = default;
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;
  TRAINHOOK_DECL ~BufferPool();

  /// Null if there is no memory.
  [[nodiscard]] TRAINHOOK_DECL void* allocate(std::size_t bytes) noexcept;
  TRAINHOOK_DECL void free(void* memory, std::size_t bytes) noexcept;

 private:
  struct Block {
    void* memory;
    std::size_t bytes;
  };

  TRAINHOOK_DECL void* take(std::size_t bytes) noexcept;
  TRAINHOOK_DECL void* remove_last() noexcept;
  TRAINHOOK_DECL void release_last() noexcept;
  TRAINHOOK_DECL bool keep(void* memory, std::size_t bytes) noexcept;

  std::mutex mutex_;
  Block blocks_[kMostBlocks] = {};
  std::size_t size_ = 0;
  std::size_t used_ = 0;       // bytes of large blocks in use
  std::size_t most_used_ = 0;  // the peak of used_
  std::size_t kept_ = 0;       // bytes of the blocks kept for reuse
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/core/impl/buffer_pool.ipp>
#endif
