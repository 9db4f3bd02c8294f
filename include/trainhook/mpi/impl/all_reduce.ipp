// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/mpi/all_reduce.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <type_traits>
#include <utility>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/mpi/background_sum.hpp>
#include <trainhook/mpi/request.hpp>

namespace trainhook::mpi::detail {

/// Ends the job after `max_wait`: MPI still writes to `values`, which the caller may free.
inline void add_up_values(std::span<std::byte> values, DType dtype, const Communicator& comm, Duration max_wait) {
  std::deque<Request> requests;
  start_sums(values, dtype, comm, requests);
  wait_for(requests, comm, max_wait);
}

/// MPI itself may add up what there is, or write beyond the shorter one.
inline void expect_equal_lengths(std::size_t length, const Communicator& comm, Duration max_wait) {
  const auto own = static_cast<std::int64_t>(length);
  std::array<std::int64_t, 2> greatest{own, -own};
  std::deque<Request> requests;
  Request& request = requests.emplace_back("MPI_Iallreduce", comm.rank(), &comm.roll_call());
  expect_success(
      MPI_Iallreduce(MPI_IN_PLACE, greatest.data(), 2, MPI_INT64_T, MPI_MAX, comm.native(), request.native()),
      "MPI_Iallreduce", comm.rank());
  wait_for(requests, comm, max_wait);
  if (greatest[0] == -greatest[1]) return;
  throw InvalidArgumentError(
      "mpi::all_reduce: rank {} gives {} values, and the ranks give {} to {}; give as many on each", comm.rank(), own,
      -greatest[1], greatest[0]);
}

template <class T>
void reduce_values(std::span<T> values, Reduction reduction, const Communicator& comm, Duration max_wait) {
  if (reduction == Reduction::Mean && !std::is_floating_point_v<T>)
    throw InvalidArgumentError(
        "mpi::all_reduce: whole numbers have no mean; ask for the sum, or reduce float or double");
  expect_equal_lengths(values.size(), comm, max_wait);
  add_up_values(std::as_writable_bytes(values), dtype_of<T>, comm, max_wait);
  if (reduction == Reduction::Sum) return;
  const T size = static_cast<T>(comm.size());
  for (T& value : values) value /= size;
}

/// See `mpi::reducer`.
class MpiReducer final : public AllReducer {
 public:
  MpiReducer(Communicator comm, Duration max_wait) : comm_(std::move(comm)), max_wait_(max_wait) {}

  [[nodiscard]] int size() const noexcept override { return comm_.size(); }

  void add_up(std::span<std::byte> values, DType dtype) override { add_up_values(values, dtype, comm_, max_wait_); }

  [[nodiscard]] std::unique_ptr<BackgroundSum> make_background_sum() override {
    if (sums_ == nullptr) {
      sums_ =
          std::make_shared<BackgroundSums>(BackgroundSums{.comm = comm_.duplicate(max_wait_), .max_wait = max_wait_});
    }
    return std::make_unique<MpiBackgroundSum>(sums_);
  }

 private:
  Communicator comm_;
  Duration max_wait_;
  std::shared_ptr<BackgroundSums> sums_;  // from the first one on
};

}  // namespace trainhook::mpi::detail

namespace trainhook::mpi {

void all_reduce(std::span<float> values, Reduction reduction, const Communicator& comm, Duration max_wait) {
  detail::reduce_values(values, reduction, comm, max_wait);
}

void all_reduce(std::span<double> values, Reduction reduction, const Communicator& comm, Duration max_wait) {
  detail::reduce_values(values, reduction, comm, max_wait);
}

void all_reduce(std::span<std::int32_t> values, Reduction reduction, const Communicator& comm, Duration max_wait) {
  detail::reduce_values(values, reduction, comm, max_wait);
}

void all_reduce(std::span<std::int64_t> values, Reduction reduction, const Communicator& comm, Duration max_wait) {
  detail::reduce_values(values, reduction, comm, max_wait);
}

Output all_reduce(Output value, Reduction reduction, const Communicator& comm, std::string_view name) {
  return trainhook::all_reduce({value}, reduction, reducer(comm), name).front();
}

std::shared_ptr<AllReducer> reducer(const Communicator& comm, Duration max_wait) {
  return std::make_shared<detail::MpiReducer>(comm, max_wait);
}

}  // namespace trainhook::mpi
