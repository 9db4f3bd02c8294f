// SPDX-License-Identifier: Apache-2.0
/// @file
/// Collective: connects the processes of a job, its ranks, so that they can agree on decisions.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <trainhook/core/duration.hpp>
#include <trainhook/core/linkage.hpp>

namespace trainhook {

namespace detail {

/// For messages: `rank 2`, `ranks 0 to 4, 7 and 9`. @param ranks in ascending order
[[nodiscard]] TRAINHOOK_DECL std::string ranks_text(std::span<const int> ranks);

}  // namespace detail

/// What one rank contributes to a reduction, and afterwards the result over all ranks.
struct Votes {
  static constexpr std::size_t kNumbers = 5;
  using Numbers = std::array<std::int64_t, kNumbers>;

  static constexpr Numbers all_of(std::int64_t value) noexcept {
    Numbers numbers{};
    numbers.fill(value);
    return numbers;
  }

  std::uint64_t any = 0;                                                   ///< the union of the bits of all ranks
  Numbers least = all_of((std::numeric_limits<std::int64_t>::max)());      ///< the smallest of all ranks
  Numbers greatest = all_of(std::numeric_limits<std::int64_t>::lowest());  ///< the largest of all ranks

  /// Adds the votes of another rank. The order of the ranks does not matter.
  constexpr void add(const Votes& other) noexcept {
    any |= other.any;
    for (std::size_t i = 0; i < kNumbers; ++i) {
      least[i] = (std::min)(least[i], other.least[i]);
      greatest[i] = (std::max)(greatest[i], other.greatest[i]);
    }
  }

  bool operator==(const Votes&) const = default;
};

/// Connects the ranks of a job. Every rank makes the same calls in the same order; a call waits up to `max_wait` until
/// all ranks have made it. After an error no further call can succeed: call `end_job` or end the process. Not
/// thread-safe.
///
/// trainhook::mpi implements it for MPI, testing::ThreadedRanks for the threads of a test.
class Collective {
 public:
  TRAINHOOK_DECL virtual ~Collective();

  /// This process's number, from 0 to `size() - 1`. Rank 0 is the chief: it commits checkpoints and writes events.
  [[nodiscard]] virtual int rank() const noexcept = 0;
  [[nodiscard]] virtual int size() const noexcept = 0;

  /// Returns the bytes of rank `root` on every rank; those of the others are ignored.
  /// @throws DeadlineExceededError after `max_wait`, as all the following calls do.
  [[nodiscard]] virtual std::string broadcast(std::string bytes, int root, Duration max_wait) = 0;

  /// Returns the bytes of all ranks, in the order of the ranks, on rank `root`, and nothing on the others.
  [[nodiscard]] virtual std::vector<std::string> gather(const std::string& bytes, int root, Duration max_wait) = 0;

  /// Starts a reduction of the votes of all ranks and does not wait for it. The next call must be `finish`.
  virtual void begin(const Votes& votes) = 0;

  /// Waits for the reduction that `begin` started and returns its result.
  [[nodiscard]] virtual Votes finish(Duration max_wait) = 0;

  /// Waits until all ranks have called it.
  virtual void barrier(Duration max_wait) = 0;

  /// Prints `why` and ends all ranks at once, because they can no longer agree. With MPI it does not return.
  virtual void end_job(const std::string& why) noexcept = 0;
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/ranks/impl/collective.ipp>
#endif
