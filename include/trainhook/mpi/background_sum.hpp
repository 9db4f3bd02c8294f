// SPDX-License-Identifier: Apache-2.0
/// @file
/// MpiBackgroundSum: a sum over all ranks that MPI computes while the thread does something else.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <mpi.h>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/duration.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/model/ops/all_reduce.hpp>
#include <trainhook/mpi/communicator.hpp>
#include <trainhook/mpi/request.hpp>

namespace trainhook::mpi::detail {

inline constexpr std::size_t kLongestPart = std::size_t{1} << 28;  // MPI counts with int

/// Starts to replace each element on every rank by its sum over all ranks. The memory must live until all requests are
/// done.
/// @param longest_part of how many elements each message is at most
TRAINHOOK_DECL void start_sums(std::span<std::byte> values, DType dtype, const Communicator& comm,
                               std::deque<Request>& requests, std::size_t longest_part = kLongestPart);

/// Waits until all are done, and removes them. Ends the job after `max_wait`.
TRAINHOOK_DECL void wait_for(std::deque<Request>& requests, const Communicator& comm, Duration max_wait);

/// Keeps what MPI still uses for ever: a reduction can neither be cancelled nor be freed.
TRAINHOOK_DECL void keep_for_mpi(Tensor memory, const Communicator& comm);

class MpiBackgroundSum;

/// What the sums of one reducer share.
struct BackgroundSums {
  Communicator comm;  ///< of their own, so that a sum that nobody finishes is not mixed with other messages
  Duration max_wait;
  std::vector<MpiBackgroundSum*> under_way{};
  bool out_of_step = false;  ///< whether a run has left a sum unfinished
};

/// See `AllReducer::make_background_sum`. MPI moves messages when it is called only, so each start lets it move those
/// of the sums that were started before.
class MpiBackgroundSum final : public BackgroundSum {
 public:
  explicit MpiBackgroundSum(std::shared_ptr<BackgroundSums> all) : all_(std::move(all)) {}
  MpiBackgroundSum(const MpiBackgroundSum&) = delete;
  MpiBackgroundSum& operator=(const MpiBackgroundSum&) = delete;
  TRAINHOOK_DECL ~MpiBackgroundSum() override;

  TRAINHOOK_DECL void start(std::span<const std::span<const std::byte>> parts, DType dtype) override;
  [[nodiscard]] TRAINHOOK_DECL std::span<const std::byte> finish() override;

 private:
  /// @throws FailedPreconditionError if other ranks may wait for another sum than the one that is started now.
  TRAINHOOK_DECL void expect_in_step();
  TRAINHOOK_DECL void gather(std::span<const std::span<const std::byte>> parts);
  TRAINHOOK_DECL void leave() noexcept;

  std::shared_ptr<BackgroundSums> all_;
  Tensor memory_;  // never smaller than before
  std::size_t size_ = 0;
  bool is_started_ = false;
  std::deque<Request> requests_;
};

}  // namespace trainhook::mpi::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/mpi/impl/background_sum.ipp>
#endif
