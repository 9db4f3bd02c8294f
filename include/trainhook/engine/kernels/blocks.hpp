// SPDX-License-Identifier: Apache-2.0
/// @file
/// Cuts the work of a kernel into blocks, which the session's threads share.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <trainhook/engine/kernel.hpp>
#include <trainhook/engine/kernels/eigen_maps.hpp>

namespace trainhook::detail {

/// The additions of two floats that take about 50 us, for which it pays to wake a thread.
inline constexpr std::int64_t kBlockCost = 65536;

/// What `count` sums of `products` each cost, or a block if that is less: an addition of two floats that come from
/// memory takes as long as 32 products.
inline std::int64_t cost_of_products(std::int64_t count, std::int64_t products) noexcept {
  constexpr std::int64_t kPerCost = 32;
  constexpr std::int64_t kMost = kPerCost * kBlockCost;
  return (std::min)(count, kMost) * (std::min)(products, kMost) / kPerCost + 1;
}

/// The items [begin, end) of the work.
struct Block {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t index = 0;  // among the blocks
  std::size_t worker = 0;  // as `KernelContext::for_each_piece` has it

  [[nodiscard]] std::int64_t size() const noexcept { return end - begin; }
};

/// A cut of items into blocks of one size. Depends on nothing but its arguments, so that sums over blocks have the same
/// bits for any number of threads. Blocks of more than 64 items begin at multiples of 64, so that Eigen's vectors begin
/// where they would without the cut.
class Blocks {
 public:
  /// An item takes as long as `cost` additions of two floats. A block has at least `least` items, if there are as many.
  Blocks(std::int64_t items, std::int64_t cost, std::int64_t least = 1) noexcept
      : items_(items), size_(items), count_(items > 0 ? 1 : 0) {
    const std::int64_t smallest = (std::max)(least, kBlockCost / (std::max)(cost, std::int64_t{1}));
    if (items / 2 < smallest) return;  // small kernels have no time for more divisions
    const std::int64_t most = items / smallest;
    size_ = (items + most - 1) / most;
    if (size_ > kAligned) size_ = (size_ + kAligned - 1) / kAligned * kAligned;
    count_ = (items + size_ - 1) / size_;
  }

  /// The items of a block; the last one may have fewer.
  [[nodiscard]] std::int64_t size() const noexcept { return size_; }
  [[nodiscard]] std::int64_t count() const noexcept { return count_; }

  [[nodiscard]] Block at(std::int64_t index, std::size_t worker) const noexcept {
    return {index * size_, (std::min)((index + 1) * size_, items_), index, worker};
  }

  /// The elements of `size` for each block but the first.
  [[nodiscard]] std::size_t parts(std::size_t size) const noexcept {
    return static_cast<std::size_t>((std::max)(count() - 1, std::int64_t{0})) * size;
  }

  /// How many workers they keep busy at most.
  [[nodiscard]] std::size_t num_workers(const KernelContext& context) const noexcept {
    return (std::min)(context.num_workers(), static_cast<std::size_t>((std::max)(count(), std::int64_t{1})));
  }

 private:
  static constexpr std::int64_t kAligned = 64;

  std::int64_t items_;
  std::int64_t size_;
  std::int64_t count_;
};

/// Calls `code(block)` for all blocks, at the same time on the session's threads.
template <class Code>
void for_each_block(const KernelContext& context, const Blocks& blocks, const Code& code) {
  context.for_each_piece(blocks.count(),
                         [&](std::int64_t piece, std::size_t worker) { code(blocks.at(piece, worker)); });
}

/// Computes a sum of arrays: `code(block, sum)` writes the part of a block to `sum`. The parts are added in the order
/// of the blocks. `memory` has room for `result.size()` elements of each block but the first.
template <class T, class Code>
void sum_over_blocks(const KernelContext& context, const Blocks& blocks, ArrayMap<T> result, T* memory,
                     const Code& code) {
  const Eigen::Index size = result.size();
  for_each_block(context, blocks, [&](const Block& block) {
    code(block, block.index == 0 ? result : ArrayMap<T>(memory + (block.index - 1) * size, size));
  });
  for_each_block(context, {size, blocks.count()}, [&](const Block& elements) {
    ArrayMap<T> sum(result.data() + elements.begin, elements.size());
    for (std::int64_t i = 0; i + 1 < blocks.count(); ++i)
      sum += ConstArrayMap<T>(memory + i * size + elements.begin, elements.size());
  });
}

/// The scratch memory of a kernel's call, with a part for each worker.
template <class T>
class WorkerMemory {
 public:
  /// `each` elements for a worker, and `shared` for all of them.
  WorkerMemory(const KernelContext& context, const Blocks& blocks, std::size_t each, std::size_t shared = 0)
      : each_(aligned(each)) {
    const std::size_t of_workers = blocks.num_workers(context) * each_;
    if (of_workers + shared == 0) return;
    start_ = context.scratch<T>(of_workers + shared);
    shared_ = start_ + of_workers;
  }

  [[nodiscard]] T* of(const Block& block) const noexcept { return start_ + block.worker * each_; }
  [[nodiscard]] T* shared() const noexcept { return shared_; }

 private:
  static std::size_t aligned(std::size_t count) noexcept { return (count + 15) / 16 * 16; }

  std::size_t each_;
  T* start_ = nullptr;
  T* shared_ = nullptr;
};

}  // namespace trainhook::detail
