// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/engine/kernel_threads.hpp>

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <exception>
#include <new>
#include <string_view>
#include <system_error>

#include <trainhook/core/error.hpp>
#include <trainhook/engine/kernels/vectors.hpp>

#if __has_include(<Eigen/ThreadPool>)  // from Eigen 5 on
#include <Eigen/ThreadPool>
#else
#include <unsupported/Eigen/CXX11/ThreadPool>
#endif

namespace trainhook::detail {

#if defined(__SSE2__)
ScopedDenormals::ScopedDenormals(Denormals how) noexcept : before_(_mm_getcsr()) {
  _mm_setcsr(how == Denormals::Flush ? before_ | kFlush : before_ & ~kFlush);
}

ScopedDenormals::~ScopedDenormals() { _mm_setcsr((_mm_getcsr() & ~kFlush) | (before_ & kFlush)); }
#endif

inline constexpr std::size_t kMostThreads = 1024;

std::size_t usable_processors() noexcept {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): the library does not change the environment
  if (const char* const text = std::getenv("OMP_NUM_THREADS")) {
    const std::string_view number(text);
    std::size_t threads = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), threads);
    if (error == std::errc{} && threads > 0)
      return (std::min)(threads, kMostThreads);  // of a list, "4,2", the outermost level
  }
  cpu_set_t allowed;  // for machines of up to 1024 processors
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) return static_cast<std::size_t>(CPU_COUNT(&allowed));
  return static_cast<std::size_t>((std::clamp)(::sysconf(_SC_NPROCESSORS_ONLN), 1L, long{kMostThreads}));
}

class KernelThreads::Pool : public Eigen::ThreadPool {
  using Eigen::ThreadPool::ThreadPool;
};

/// What one call of `run` shares with its helpers. A helper that comes late finds no piece left, and never calls
/// `code`, which the caller no longer has.
struct KernelThreads::Work {
  Work(std::int64_t count_in, KernelPiece code_in) : count(count_in), code(code_in), left(count_in) {}

  const std::int64_t count;
  const KernelPiece code;
  std::atomic<std::int64_t> next{0};
  std::atomic<std::int64_t> left;
  std::atomic<bool> failed{false};
  std::exception_ptr error;  // written by the one that sets `failed`
};

KernelThreads::KernelThreads(std::size_t size) : size_(size == 0 ? usable_processors() : size) {
  if (size_ > kMostThreads) throw InvalidArgumentError("num_threads is {}, and {} are the most", size_, kMostThreads);
}
KernelThreads::~KernelThreads() = default;

/// Lives as long as a session uses it, so that no thread outlives the last one. A session that wants more helpers than
/// there are starts a pool of its own size, which later sessions share. A forked child has none of its threads, for
/// which a destructor would wait: there it is left behind.
std::shared_ptr<KernelThreads::Pool> KernelThreads::shared_pool(std::size_t helpers) {
  struct Shared {
    std::mutex mutex;
    std::weak_ptr<Pool> pool;
    ::pid_t process = 0;  // that started it
  };
  static Shared* const shared = new Shared;  // never destroyed, as system_clock()
  const std::scoped_lock lock(shared->mutex);
  const ::pid_t process = ::getpid();
  std::shared_ptr<Pool> pool = shared->pool.lock();
  if (pool == nullptr || shared->process != process || static_cast<std::size_t>(pool->NumThreads()) < helpers) {
    pool = {new Pool(static_cast<int>((std::max)(helpers, usable_processors() - 1))), [process](Pool* started) {
              if (::getpid() == process) delete started;
            }};
    shared->pool = pool;
    shared->process = process;
  }
  return pool;
}

void KernelThreads::take_pieces(Work& work, std::size_t worker) noexcept {
  for (std::int64_t piece = work.next++; piece < work.count; piece = work.next++) {
    try {
      work.code(piece, worker);
    } catch (...) {
      if (!work.failed.exchange(true)) work.error = std::current_exception();
    }
    if (--work.left == 0) work.left.notify_one();
  }
}

void KernelThreads::run(std::int64_t count, KernelPiece code) {
  if (size_ == 1 || count < 2) {
    for (std::int64_t piece = 0; piece < count; ++piece) code(piece, 0);
    return;
  }
  const std::size_t helpers = (std::min)(size_, static_cast<std::size_t>(count)) - 1;
  std::call_once(started_, [this] { pool_ = shared_pool(size_ - 1); });
  const auto work = std::make_shared<Work>(count, code);
  try {
    for (std::size_t worker = 1; worker <= helpers; ++worker) {
      pool_->Schedule([work, worker] {
        const ScopedDenormals flushed(Denormals::Flush);  // as the session's own thread
        take_pieces(*work, worker);
      });
    }
  } catch (const std::bad_alloc&) {}  // fewer help; those that do still need `code`
  take_pieces(*work, 0);
  for (std::int64_t left = work->left; left != 0; left = work->left) work->left.wait(left);
  if (work->failed) std::rethrow_exception(work->error);
}

}  // namespace trainhook::detail
