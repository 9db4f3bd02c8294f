// SPDX-License-Identifier: Apache-2.0
/// @file
/// all_reduce: sums and means over the processes of a job, as ops of a graph.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/graph/op_def.hpp>

namespace trainhook {

enum class Reduction { Sum, Mean };

/// Adds up memory of all ranks of a job. trainhook::mpi implements it for MPI.
class AllReducer {
 public:
  TRAINHOOK_DECL virtual ~AllReducer();
  [[nodiscard]] virtual int size() const noexcept = 0;  ///< how many ranks there are

  /// Replaces each element on every rank by its sum over all ranks. All ranks must make the same calls in the same
  /// order, with as many elements.
  /// @param values elements of float32, float64, int32 or int64, as `dtype` says
  virtual void add_up(std::span<std::byte> values, DType dtype) = 0;
};

namespace detail {

/// TrainhookAllReduce.
[[nodiscard]] TRAINHOOK_DECL OpFamily all_reduce_ops() noexcept;

/// The reducer of a TrainhookAllReduce. @throws FailedPreconditionError if the node came from a file.
[[nodiscard]] TRAINHOOK_DECL std::shared_ptr<AllReducer> all_reducer_of(const Node& node);

}  // namespace detail

/// The sum or the mean of each value over all ranks; each rank gets it. All values go in one reduction, so they must
/// have one dtype, and a run that needs one of the results needs all of the values. All ranks must run the same ops in
/// the same order. Gradients flow back from all ranks to all.
/// @param values each must have the same shape on every rank
/// @throws InvalidArgumentError for the mean of integers, or no values.
[[nodiscard]] TRAINHOOK_DECL std::vector<Output> all_reduce(const std::vector<Output>& values, Reduction reduction,
                                                            const std::shared_ptr<AllReducer>& reducer,
                                                            std::string_view name = {});

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/graph/ops/impl/all_reduce.ipp>
#endif
