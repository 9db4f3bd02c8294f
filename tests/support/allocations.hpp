// SPDX-License-Identifier: Apache-2.0
/// @file
/// Counts what a piece of code allocates, for tests that want nothing allocated, or little.
#pragma once

#include <cstddef>

namespace trainhook::support {

/// Every call of operator new that this thread has made. Defined in allocations.cpp, which is linked into every test
/// program.
[[nodiscard]] std::size_t allocations_of_this_thread() noexcept;

/// The bytes that those calls asked for.
[[nodiscard]] std::size_t bytes_of_this_thread() noexcept;

/// The call of operator new that this thread makes after `before` further ones fails; the later ones do not. Not under
/// the thread sanitizer.
void fail_allocation_after(std::size_t before) noexcept;

/// `AllocationCount count; work(); EXPECT_EQ(count.so_far(), 0u);`
class AllocationCount {
 public:
  [[nodiscard]] std::size_t so_far() const noexcept { return allocations_of_this_thread() - before_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_of_this_thread() - bytes_before_; }

 private:
  std::size_t before_ = allocations_of_this_thread();
  std::size_t bytes_before_ = bytes_of_this_thread();
};

}  // namespace trainhook::support
