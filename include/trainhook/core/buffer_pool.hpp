// SPDX-License-Identifier: Apache-2.0
/// @file
/// BufferPool: the memory of tensors.
#pragma once

#include <cstddef>
#include <mutex>

#include <trainhook/core/linkage.hpp>

namespace trainhook::detail {

/// Where buffers come from. Keeps large freed blocks, because fresh pages cost more than copying into them, but never
/// more bytes, together with those in use, than were in use at once. Small blocks go to the allocator.
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
  std::size_t used_ = 0;       // bytes of large blocks that buffers have
  std::size_t most_used_ = 0;  // at once
  std::size_t kept_ = 0;       // bytes of the blocks kept here
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/core/impl/buffer_pool.ipp>
#endif
