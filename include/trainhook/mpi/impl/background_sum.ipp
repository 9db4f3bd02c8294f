// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/mpi/background_sum.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>

#include <trainhook/core/error.hpp>
#include <trainhook/core/shape.hpp>

namespace trainhook::mpi::detail {

/// @throws InvalidArgumentError for elements that MPI does not add up.
[[nodiscard]] inline MPI_Datatype mpi_type(DType dtype) {
  switch (dtype) {
    case DType::Float: return MPI_FLOAT;
    case DType::Double: return MPI_DOUBLE;
    case DType::Int32: return MPI_INT32_T;
    case DType::Int64: return MPI_INT64_T;
    default:
      throw InvalidArgumentError(
          "mpi::reducer: {} cannot be added up over ranks; cast to float32, float64, int32 or int64", dtype);
  }
}

void start_sums(std::span<std::byte> values, DType dtype, const Communicator& comm, std::deque<Request>& requests,
                std::size_t longest_part) {
  const std::size_t longest = longest_part * dtype_size(dtype);
  for (std::size_t begin = 0; begin < values.size(); begin += longest) {
    const std::span<std::byte> part = values.subspan(begin, (std::min)(longest, values.size() - begin));
    Request& request = requests.emplace_back("MPI_Iallreduce", comm.rank(), &comm.roll_call());
    expect_success(MPI_Iallreduce(MPI_IN_PLACE, part.data(), static_cast<int>(part.size() / dtype_size(dtype)),
                                  mpi_type(dtype), MPI_SUM, comm.native(), request.native()),
                   "MPI_Iallreduce", comm.rank());
  }
}

void wait_for(std::deque<Request>& requests, const Communicator& comm, Duration max_wait) {
  try {
    for (; !requests.empty(); requests.pop_front()) requests.front().wait(max_wait);
  } catch (const DeadlineExceededError& error) { end_job(comm.rank(), error.what()); }
}

void keep_for_mpi(Tensor memory, const Communicator& comm) {
  static auto* const kept = new std::vector<std::pair<Tensor, Communicator>>;
  kept->emplace_back(std::move(memory), comm);
}

MpiBackgroundSum::~MpiBackgroundSum() {
  if (!is_started_) return;
  leave();
  all_->out_of_step = true;
  if (!is_running()) return;
  try {
    if (!std::ranges::all_of(requests_, &Request::is_done)) keep_for_mpi(std::move(memory_), all_->comm);
  } catch (const Error&) { keep_for_mpi(std::move(memory_), all_->comm); }
}

void MpiBackgroundSum::start(std::span<const std::span<const std::byte>> parts, DType dtype) {
  static_cast<void>(mpi_type(dtype));  // throws before anything is started
  expect_in_step();
  gather(parts);
  all_->under_way.push_back(this);
  is_started_ = true;
  start_sums(memory_.overwrite_bytes().first(size_), dtype, all_->comm, requests_);
  for (MpiBackgroundSum* sum : all_->under_way) {
    for (Request& request : sum->requests_) static_cast<void>(request.is_done());
  }
}

std::span<const std::byte> MpiBackgroundSum::finish() {
  if (!is_started_) throw FailedPreconditionError("there is no sum to finish; start one first");
  wait_for(requests_, all_->comm, all_->max_wait);
  leave();
  return std::as_const(memory_).bytes().first(size_);
}

void MpiBackgroundSum::expect_in_step() {
  if (is_started_ && all_->comm.size() == 1) static_cast<void>(finish());
  all_->out_of_step = (all_->out_of_step || is_started_) && all_->comm.size() > 1;
  if (!all_->out_of_step) return;
  // Ranks may have started different numbers of sums, and would now add up values of different variables.
  throw FailedPreconditionError(
      "rank {}: a run failed between the start and the end of a reduction, so the ranks may be out of step; "
      "start the job again, or let every rank build the graph again",
      all_->comm.rank());
}

void MpiBackgroundSum::gather(std::span<const std::span<const std::byte>> parts) {
  size_ = 0;
  for (const std::span<const std::byte> part : parts) size_ += part.size();
  if (memory_.byte_size() < size_)
    memory_ = Tensor::uninitialized(DType::UInt8, Shape{static_cast<std::int64_t>(size_)});
  auto end = memory_.overwrite_bytes().begin();
  for (const std::span<const std::byte> part : parts) end = std::ranges::copy(part, end).out;
}

void MpiBackgroundSum::leave() noexcept {
  is_started_ = false;
  std::erase(all_->under_way, this);
}

}  // namespace trainhook::mpi::detail
