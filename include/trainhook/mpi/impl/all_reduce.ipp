// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of all_reduce.hpp.
#pragma once

#include <trainhook/mpi/all_reduce.hpp>

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <utility>

#include <trainhook/core/error.hpp>
#include <trainhook/mpi/request.hpp>

namespace trainhook::mpi::detail {

/// Ends the job after `max_wait`: MPI still writes to `values`, which the caller may free.
TRAINHOOK_DECL void add_up_part(void* values, std::size_t count, MPI_Datatype type, const Communicator& comm,
                                Duration max_wait) {
  Request request("MPI_Iallreduce", comm.rank());
  check(MPI_Iallreduce(MPI_IN_PLACE, values, static_cast<int>(count), type, MPI_SUM, comm.native(), request.native()),
        "MPI_Iallreduce", comm.rank());
  try {
    request.wait(max_wait);
  } catch (const DeadlineExceededError& error) { end_job(comm.native(), comm.rank(), error.what()); }
}

template <class T>
void reduce_values(std::span<T> values, Reduction reduction, const Communicator& comm, Duration max_wait,
                   MPI_Datatype type) {
  constexpr std::size_t kLongestPart = std::size_t{1} << 28;  // MPI counts with int
  if (reduction == Reduction::Mean && !std::is_floating_point_v<T>)
    throw InvalidArgumentError(
        "mpi::all_reduce: whole numbers have no mean; ask for the sum, or reduce float or double");
  for (std::size_t begin = 0; begin < values.size(); begin += kLongestPart) {
    const std::span<T> part = values.subspan(begin, (std::min)(kLongestPart, values.size() - begin));
    add_up_part(part.data(), part.size(), type, comm, max_wait);
  }
  if (reduction == Reduction::Sum) return;
  const T size = static_cast<T>(comm.size());
  for (T& value : values) value /= size;
}

/// See `mpi::reducer`.
class MpiReducer final : public AllReducer {
 public:
  MpiReducer(Communicator comm, Duration max_wait) : comm_(std::move(comm)), max_wait_(max_wait) {}

  [[nodiscard]] int size() const noexcept override { return comm_.size(); }

  void add_up(std::span<std::byte> values, DType dtype) override {
    switch (dtype) {
      case DType::Float: return add_up_values<float>(values);
      case DType::Double: return add_up_values<double>(values);
      case DType::Int32: return add_up_values<std::int32_t>(values);
      case DType::Int64: return add_up_values<std::int64_t>(values);
      default:
        throw InvalidArgumentError(
            "mpi::reducer: {} cannot be added up over ranks; cast to float32, float64, int32 or int64", dtype);
    }
  }

 private:
  template <class T>
  void add_up_values(std::span<std::byte> values) {
    mpi::all_reduce(std::span<T>(reinterpret_cast<T*>(values.data()), values.size() / sizeof(T)), Reduction::Sum, comm_,
                    max_wait_);
  }

  Communicator comm_;
  Duration max_wait_;
};

}  // namespace trainhook::mpi::detail

namespace trainhook::mpi {

TRAINHOOK_DECL void all_reduce(std::span<float> values, Reduction reduction, const Communicator& comm,
                               Duration max_wait) {
  detail::reduce_values(values, reduction, comm, max_wait, MPI_FLOAT);
}

TRAINHOOK_DECL void all_reduce(std::span<double> values, Reduction reduction, const Communicator& comm,
                               Duration max_wait) {
  detail::reduce_values(values, reduction, comm, max_wait, MPI_DOUBLE);
}

TRAINHOOK_DECL void all_reduce(std::span<std::int32_t> values, Reduction reduction, const Communicator& comm,
                               Duration max_wait) {
  detail::reduce_values(values, reduction, comm, max_wait, MPI_INT32_T);
}

TRAINHOOK_DECL void all_reduce(std::span<std::int64_t> values, Reduction reduction, const Communicator& comm,
                               Duration max_wait) {
  detail::reduce_values(values, reduction, comm, max_wait, MPI_INT64_T);
}

TRAINHOOK_DECL Output all_reduce(Output value, Reduction reduction, const Communicator& comm, std::string_view name) {
  return trainhook::all_reduce({value}, reduction, reducer(comm), name).front();
}

TRAINHOOK_DECL std::shared_ptr<AllReducer> reducer(const Communicator& comm, Duration max_wait) {
  return std::make_shared<detail::MpiReducer>(comm, max_wait);
}

}  // namespace trainhook::mpi
