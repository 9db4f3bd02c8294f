// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/core/buffer_pool.hpp>

#include <pthread.h>

#include <algorithm>
#include <new>
#include <utility>

namespace trainhook::detail {

BufferPool& BufferPool::instance() {
  static BufferPool* pool = new BufferPool;       // never destroyed: tensors with static storage may outlive it
  [[maybe_unused]] static const int registered =  // a forked child can use it, whatever other threads were doing
      ::pthread_atfork([] { instance().mutex_.lock(); }, [] { instance().mutex_.unlock(); },
                       [] { instance().mutex_.unlock(); });
  return *pool;
}

BufferPool::~BufferPool() {
  while (size_ > 0) release_last();
}

void* BufferPool::allocate(std::size_t bytes) noexcept {
  if (bytes >= kSmallest) {
    const std::scoped_lock lock(mutex_);
    if (void* kept = take(bytes)) return kept;
    while (size_ > 0 && kept_ + used_ + bytes > most_used_) release_last();
  }
  void* memory = ::operator new(bytes, std::align_val_t{kAlignment}, std::nothrow);
  if (memory != nullptr && bytes >= kSmallest) {
    const std::scoped_lock lock(mutex_);
    used_ += bytes;
    most_used_ = (std::max)(most_used_, used_);
  }
  return memory;
}

void BufferPool::free(void* memory, std::size_t bytes) noexcept {
  if (bytes < kSmallest || !keep(memory, bytes)) ::operator delete(memory, std::align_val_t{kAlignment});
}

void* BufferPool::take(std::size_t bytes) noexcept {
  for (std::size_t i = size_; i-- > 0;) {
    if (blocks_[i].bytes != bytes) continue;
    std::swap(blocks_[i], blocks_[size_ - 1]);
    used_ += bytes;
    return remove_last();
  }
  return nullptr;
}

void* BufferPool::remove_last() noexcept {
  kept_ -= blocks_[--size_].bytes;
  return blocks_[size_].memory;
}

void BufferPool::release_last() noexcept { ::operator delete(remove_last(), std::align_val_t{kAlignment}); }

bool BufferPool::keep(void* memory, std::size_t bytes) noexcept {
  const std::scoped_lock lock(mutex_);
  used_ -= bytes;
  if (size_ == kMostBlocks) return false;
  blocks_[size_++] = {memory, bytes};
  kept_ += bytes;
  return true;
}

}  // namespace trainhook::detail
