// SPDX-License-Identifier: Apache-2.0
/// @file
/// Counted buffers and the pool that keeps large ones.
#include <trainhook/core/buffer.hpp>
#include <trainhook/core/buffer_pool.hpp>
#include <trainhook/core/error.hpp>

#include <cstdint>
#include <limits>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <allocations.hpp>

namespace trainhook::detail {
namespace {

std::uintptr_t address(const Buffer& buffer) { return reinterpret_cast<std::uintptr_t>(buffer.bytes()); }

TEST(Buffer, IsAlignedAndRoundsItsCapacityUp) {
  const Buffer buffer = Buffer::of_bytes(65);
  EXPECT_EQ(address(buffer) % kBufferAlignment, 0u);
  EXPECT_EQ(buffer.capacity(), 128u);
}

TEST(Buffer, IsUniqueUntilCopiedAndAgainWhenTheCopyIsGone) {
  const Buffer buffer = Buffer::of_bytes(8);
  EXPECT_TRUE(buffer.is_unique());
  {
    const Buffer copy = buffer;
    EXPECT_FALSE(buffer.is_unique());
    EXPECT_EQ(address(copy), address(buffer));
  }
  EXPECT_TRUE(buffer.is_unique());
}

TEST(Buffer, MovesWithoutCounting) {
  Buffer buffer = Buffer::of_bytes(8);
  const Buffer moved = std::move(buffer);
  EXPECT_TRUE(moved.is_unique());
  EXPECT_FALSE(static_cast<bool>(buffer));  // NOLINT(bugprone-use-after-move): a moved-from buffer is an empty one
  EXPECT_EQ(buffer.capacity(), 0u);
}

TEST(Buffer, SurvivesAssignmentToItself) {
  Buffer buffer = Buffer::of_bytes(8);
  const Buffer& same = buffer;
  buffer = same;
  EXPECT_TRUE(buffer.is_unique());
}

TEST(Buffer, ConstructsItsStringsAndDestroysThem) {
  const Buffer buffer = Buffer::of_strings(3);
  ASSERT_EQ(buffer.strings().size(), 3u);
  EXPECT_EQ(buffer.strings()[2], "");
  buffer.strings()[2] = std::string(1000, 'x');  // the address sanitizer sees it if this is not freed
}

TEST(Buffer, OfMoreThanThereIsThrows) {
  constexpr std::size_t kMost = (std::numeric_limits<std::size_t>::max)();
  EXPECT_THROW((void)Buffer::of_bytes(kMost), ResourceExhaustedError);
  EXPECT_THROW((void)Buffer::of_bytes(kMost / 2), ResourceExhaustedError);
  EXPECT_THROW((void)Buffer::of_strings(kMost / 8), ResourceExhaustedError);
}

TEST(BufferPool, GivesALargeBlockBackToTheNextOfItsSize) {
  constexpr std::size_t kSize = 3 * BufferPool::kSmallest + 64;  // of no other test's size
  std::uintptr_t first = 0;
  {
    const Buffer buffer = Buffer::of_bytes(kSize);
    first = address(buffer);
  }
  const Buffer again = Buffer::of_bytes(kSize);
  EXPECT_EQ(address(again), first);
  EXPECT_TRUE(again.is_unique());
}

TEST(BufferPool, LeavesSmallBlocksToTheAllocator) {
  BufferPool pool;
  const auto allocated_by_two_of = [&](std::size_t bytes) {
    const support::AllocationCount count;
    pool.free(pool.allocate(bytes), bytes);
    pool.free(pool.allocate(bytes), bytes);
    return count.so_far();
  };
  EXPECT_EQ(allocated_by_two_of(BufferPool::kSmallest - 64), 2U);
  EXPECT_EQ(allocated_by_two_of(BufferPool::kSmallest), 1U);
}

TEST(BufferPool, HoldsNoMoreThanWasInUseAtOnce) {
  BufferPool pool;
  constexpr std::size_t kOne = BufferPool::kSmallest;
  void* one = pool.allocate(kOne);
  void* two = pool.allocate(2 * kOne);
  pool.free(one, kOne);
  pool.free(two, 2 * kOne);
  void* three = pool.allocate(3 * kOne);  // the others have to go
  const support::AllocationCount count;
  one = pool.allocate(kOne);
  EXPECT_EQ(count.so_far(), 1U);
  pool.free(one, kOne);
  pool.free(three, 3 * kOne);
  pool.free(pool.allocate(kOne), kOne);
  EXPECT_EQ(count.so_far(), 1U);
}

TEST(Buffer, IsCountedRightFromManyThreads) {
  const Buffer buffer = Buffer::of_bytes(2 * BufferPool::kSmallest);
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&buffer] {
        for (int round = 0; round < 1000; ++round) {
          const Buffer copy = buffer;
          const Buffer own = Buffer::of_bytes(BufferPool::kSmallest);
          EXPECT_FALSE(copy.is_unique());
        }
      });
    }
  }
  EXPECT_TRUE(buffer.is_unique());
}

}  // namespace
}  // namespace trainhook::detail
