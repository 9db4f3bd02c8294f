// SPDX-License-Identifier: Apache-2.0
/// @file
/// KernelThreads: the threads among which a session's kernels share their work. ScopedDenormals: how the processor
/// treats floats there that are too small for a full mantissa.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include <trainhook/core/function_ref.hpp>
#include <trainhook/core/linkage.hpp>

namespace trainhook::detail {

enum class Denormals { Keep, Flush };

/// Sets the treatment of denormals for this thread, and restores the former one when destroyed. A GraphSession flushes:
/// denormals count as zero and results that small become zero. Otherwise moments of gradients that stay at zero decay
/// into denormals for good, and a step takes ten times as long. Follows TensorFlow's `ScopedFlushDenormal`. Does
/// nothing on processors without SSE.
class ScopedDenormals {
 public:
#if defined(__SSE2__)
  TRAINHOOK_DECL explicit ScopedDenormals(Denormals how) noexcept;
  TRAINHOOK_DECL ~ScopedDenormals();
#else
  explicit ScopedDenormals(Denormals /*how*/) noexcept {}
#endif
  ScopedDenormals(const ScopedDenormals&) = delete;
  ScopedDenormals& operator=(const ScopedDenormals&) = delete;

 private:
#if defined(__SSE2__)
  static constexpr unsigned kFlush = 0x8040;  // flush to zero, and denormals are zeros
  unsigned before_;
#endif
};

/// The processors that this process may use: OMP_NUM_THREADS if it is set to a number, else those that the system lets
/// it run on.
[[nodiscard]] TRAINHOOK_DECL std::size_t usable_processors() noexcept;

/// One piece of a kernel's work. `worker` is below `KernelThreads::size()`, and no two pieces have the same one at the
/// same time.
using KernelPiece = FunctionRef<void(std::int64_t piece, std::size_t worker)>;

/// The thread that runs a session and helpers from a pool, which all sessions of a process share. May be used from
/// several threads at once.
class KernelThreads {
 public:
  /// `size` counts the caller; 0: `usable_processors()`. Starts no thread yet. @throws InvalidArgumentError for more
  /// than 1024.
  TRAINHOOK_DECL explicit KernelThreads(std::size_t size);
  KernelThreads(const KernelThreads&) = delete;
  KernelThreads& operator=(const KernelThreads&) = delete;
  TRAINHOOK_DECL ~KernelThreads();

  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// Calls `code` for the pieces 0 to `count` - 1, and returns when all are done. The caller takes its share, and waits
  /// for no helper that has not begun. @throws the first error of a piece; with several threads, the other pieces are
  /// done all the same.
  TRAINHOOK_DECL void run(std::int64_t count, KernelPiece code);

 private:
  class Pool;
  struct Work;
  TRAINHOOK_DECL static std::shared_ptr<Pool> shared_pool(std::size_t helpers);
  TRAINHOOK_DECL static void take_pieces(Work& work, std::size_t worker) noexcept;

  std::size_t size_;
  std::once_flag started_;
  std::shared_ptr<Pool> pool_;  // from the first piece of work that is shared
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/engine/impl/kernel_threads.ipp>
#endif
