// SPDX-License-Identifier: Apache-2.0
/// @file
/// Counts what a piece of code allocates, for tests that want nothing allocated.
#pragma once

#include <cstddef>

namespace trainhook::support {

/// Every call of operator new that this thread has made. Defined in allocations.cpp, which is linked into every test
/// program.
[[nodiscard]] std::size_t allocations_of_this_thread() noexcept;

/// `AllocationCount count; work(); EXPECT_EQ(count.so_far(), 0u);`
class AllocationCount {
 public:
  [[nodiscard]] std::size_t so_far() const noexcept { return allocations_of_this_thread() - before_; }

 private:
  std::size_t before_ = allocations_of_this_thread();
};

}  // namespace trainhook::support
