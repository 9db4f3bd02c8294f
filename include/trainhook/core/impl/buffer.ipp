// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/core/buffer.hpp>

#include <limits>
#include <memory>

#include <trainhook/core/buffer_pool.hpp>
#include <trainhook/core/error.hpp>

namespace trainhook::detail {

static_assert(kBufferAlignment == BufferPool::kAlignment);

Buffer Buffer::of_strings(std::size_t count) {
  if (count > (std::numeric_limits<std::size_t>::max)() / 2 / sizeof(std::string))
    throw ResourceExhaustedError("no memory for {} strings", count);
  Buffer buffer(allocate(count * sizeof(std::string)));
  std::uninitialized_value_construct_n(reinterpret_cast<std::string*>(buffer.header_ + 1), count);
  buffer.header_->string_count = count;
  return buffer;
}

BufferHeader* Buffer::allocate(std::size_t size) {
  constexpr std::size_t kLargest = (std::numeric_limits<std::size_t>::max)() / 2;
  if (size > kLargest) throw ResourceExhaustedError("no memory for a tensor of {} bytes", size);
  const std::size_t capacity = (size + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
  void* memory = BufferPool::instance().allocate(sizeof(BufferHeader) + capacity);
  if (memory == nullptr) throw ResourceExhaustedError("no memory for a tensor of {} bytes", size);
  auto* header = ::new (memory) BufferHeader;
  header->capacity = capacity;
  return header;
}

void Buffer::destroy(BufferHeader* header) noexcept {
  std::destroy_n(reinterpret_cast<std::string*>(header + 1), header->string_count);
  const std::size_t bytes = sizeof(BufferHeader) + header->capacity;
  header->~BufferHeader();
  BufferPool::instance().free(header, bytes);
}

}  // namespace trainhook::detail
