// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of all_reduce.hpp.
#pragma once

#include <trainhook/mpi/all_reduce.hpp>

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include <trainhook/core/error.hpp>

namespace trainhook::mpi::detail {

template <class T>
void reduce_values(std::span<T> values, Reduction reduction, const Communicator& comm, MPI_Datatype type) {
  constexpr std::size_t kLongestPart = std::size_t{1} << 28;  // MPI counts with int
  if (reduction == Reduction::Mean && !std::is_floating_point_v<T>)
    throw InvalidArgumentError(
        "mpi::all_reduce: whole numbers have no mean; ask for the sum, or reduce float or double");
  for (std::size_t begin = 0; begin < values.size(); begin += kLongestPart) {
    const std::span<T> part = values.subspan(begin, (std::min)(kLongestPart, values.size() - begin));
    check(MPI_Allreduce(MPI_IN_PLACE, part.data(), static_cast<int>(part.size()), type, MPI_SUM, comm.native()),
          "MPI_Allreduce", comm.rank());
  }
  if (reduction == Reduction::Sum) return;
  const T size = static_cast<T>(comm.size());
  for (T& value : values) value /= size;
}

}  // namespace trainhook::mpi::detail

namespace trainhook::mpi {

TRAINHOOK_DECL void all_reduce(std::span<float> values, Reduction reduction, const Communicator& comm) {
  detail::reduce_values(values, reduction, comm, MPI_FLOAT);
}

TRAINHOOK_DECL void all_reduce(std::span<double> values, Reduction reduction, const Communicator& comm) {
  detail::reduce_values(values, reduction, comm, MPI_DOUBLE);
}

TRAINHOOK_DECL void all_reduce(std::span<std::int32_t> values, Reduction reduction, const Communicator& comm) {
  detail::reduce_values(values, reduction, comm, MPI_INT32_T);
}

TRAINHOOK_DECL void all_reduce(std::span<std::int64_t> values, Reduction reduction, const Communicator& comm) {
  detail::reduce_values(values, reduction, comm, MPI_INT64_T);
}

}  // namespace trainhook::mpi
