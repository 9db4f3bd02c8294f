// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/mpi/shard_globally.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/core/tensor.hpp>

namespace trainhook::mpi::detail {

inline Tensor rows_of(const Tensor& batch, std::int64_t begin, std::int64_t end) {
  std::vector<std::int64_t> dims(batch.shape().dims().begin(), batch.shape().dims().end());
  const std::size_t rows = static_cast<std::size_t>(dims.front());
  dims.front() = end - begin;
  Tensor part = Tensor::uninitialized(batch.dtype(), Shape(std::span<const std::int64_t>(dims)));
  const auto first = static_cast<std::size_t>(begin);
  if (batch.dtype() == DType::String) {
    const std::span<const std::string> all = batch.data<std::string>();
    const std::span<std::string> some = part.mutable_data<std::string>();
    std::ranges::copy(all.subspan(first * (all.size() / rows), some.size()), some.begin());
  } else {
    const std::span<const std::byte> all = batch.bytes();
    const std::span<std::byte> some = part.overwrite_bytes();
    std::ranges::copy(all.subspan(first * (all.size() / rows), some.size()), some.begin());
  }
  return part;
}

inline InvalidArgumentError no_batch(std::string_view what) {
  return InvalidArgumentError(
      "mpi::shard_globally: the dataset gives {}, and each component must be a batch; call batch() before", what);
}

/// @param has_warned whether it was said that ranks get different numbers of rows
inline Element rows_of_rank(Element batch, int rank, int size, std::atomic_flag& has_warned) {
  std::int64_t rows = -1;
  for (const Tensor& component : batch) {
    if (component.shape().rank() == 0) throw no_batch("a scalar");
    if (rows == -1) rows = component.shape()[0];
    if (component.shape()[0] != rows) {
      throw InvalidArgumentError(
          "mpi::shard_globally: the components of a batch have {} and {} rows; all must have the same number", rows,
          component.shape()[0]);
    }
  }
  if (rows < size) {
    throw InvalidArgumentError(
        "mpi::shard_globally: a batch of {} rows is too small for {} ranks; "
        "make batches larger, or leave out the last one with batch(n, {{.drop_remainder = true}})",
        rows, size);
  }
  if (rank == 0 && rows % size != 0 && !has_warned.test_and_set()) {
    log_warning(
        "mpi::shard_globally: {} ranks get {} or {} rows each of a batch of {}, so the mean of their gradients is not "
        "the mean over the rows. Choose a batch size that the number of ranks divides, leave out the last batch with "
        "batch(n, {{.drop_remainder = true}}), or use Reduction::Sum and a loss that is divided by all rows",
        size, rows / size, rows / size + 1, rows);
  }
  for (Tensor& component : batch) component = rows_of(component, rows * rank / size, rows * (rank + 1) / size);
  return batch;
}

}  // namespace trainhook::mpi::detail

namespace trainhook::mpi {

Dataset shard_globally(const Dataset& batches, const Communicator& comm) {
  ElementSpec spec = batches.element_spec();
  for (OutputSpec& component : spec) {
    if (!component.shape.has_rank()) continue;
    if (component.shape.rank() == 0) throw detail::no_batch(trainhook::detail::spec_to_string(batches.element_spec()));
    std::vector<std::int64_t> dims(component.shape.dims().begin(), component.shape.dims().end());
    dims.front() = kUnknownDim;  // it depends on the rank, and the saved position must not
    component.shape = PartialShape(std::span<const std::int64_t>(dims));
  }
  return batches.map([rank = comm.rank(), size = comm.size(), has_warned = std::make_shared<std::atomic_flag>()](
                         Element batch) { return detail::rows_of_rank(std::move(batch), rank, size, *has_warned); },
                     {.element_spec = std::move(spec)});
}

}  // namespace trainhook::mpi
