// SPDX-License-Identifier: Apache-2.0
/// @file
/// Replaces operator new by one that counts; the other forms of the standard library end in these four.
#include <allocations.hpp>

#include <cstdlib>
#include <new>

#ifdef __has_feature
#if __has_feature(thread_sanitizer)
#define TRAINHOOK_SANITIZER_ALLOCATES
#endif
#endif

namespace {

thread_local std::size_t calls = 0;
thread_local std::size_t bytes = 0;
thread_local std::size_t until_failure = 0;

}  // namespace

std::size_t trainhook::support::allocations_of_this_thread() noexcept { return calls; }

std::size_t trainhook::support::bytes_of_this_thread() noexcept { return bytes; }

void trainhook::support::fail_allocation_after(std::size_t before) noexcept { until_failure = before + 1; }

#ifdef TRAINHOOK_SANITIZER_ALLOCATES
// The thread sanitizer of clang has its own operator new and calls this for each allocation.
extern "C" void __sanitizer_malloc_hook(const volatile void*, std::size_t size) {
  ++calls;
  bytes += size;
}
#else

namespace {

void* allocate(std::size_t size, std::size_t alignment) noexcept {
  ++calls;
  bytes += size;
  if (until_failure != 0 && --until_failure == 0) return nullptr;
  if (size == 0) size = 1;
  if (alignment <= alignof(std::max_align_t)) return std::malloc(size);
  void* memory = nullptr;
  return posix_memalign(&memory, alignment, size) == 0 ? memory : nullptr;
}

}  // namespace

void* operator new(std::size_t size) {
  if (void* memory = allocate(size, 1)) return memory;
  throw std::bad_alloc();
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  if (void* memory = allocate(size, static_cast<std::size_t>(alignment))) return memory;
  throw std::bad_alloc();
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return allocate(size, 1); }
void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return allocate(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
#endif
