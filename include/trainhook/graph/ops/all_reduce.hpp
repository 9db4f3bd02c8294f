// SPDX-License-Identifier: Apache-2.0
/// @file
/// all_reduce: sums and means over the processes of a job, as ops of a graph.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/graph/op_def.hpp>

namespace trainhook {

enum class Reduction { Sum, Mean };

/// A sum over all ranks that is computed while its owner does something else, step after step in the same memory. It
/// may be destroyed before it is finished.
class BackgroundSum {
 public:
  TRAINHOOK_DECL virtual ~BackgroundSum();

  /// Copies the values, one part after the other, and begins to add them up. All ranks must start and finish the same
  /// sums in the same order, with as many elements. @throws FailedPreconditionError if ranks may be out of step,
  /// because a run has failed after it started a sum and before it finished it.
  /// @param dtype float32, float64, int32 or int64
  virtual void start(std::span<const std::span<const std::byte>> parts, DType dtype) = 0;

  /// Waits for the sum of what was started. The result is valid until the next start.
  /// @throws FailedPreconditionError if nothing was started.
  [[nodiscard]] virtual std::span<const std::byte> finish() = 0;
};

/// Adds up memory of all ranks of a job. trainhook::mpi implements it for MPI.
class AllReducer {
 public:
  TRAINHOOK_DECL virtual ~AllReducer();
  [[nodiscard]] virtual int size() const noexcept = 0;  ///< how many ranks there are

  /// Replaces each element on every rank by its sum over all ranks. All ranks must make the same calls in the same
  /// order, with as many elements.
  /// @param values elements of float32, float64, int32 or int64, as `dtype` says
  virtual void add_up(std::span<std::byte> values, DType dtype) = 0;

  /// For one place of a program that starts and finishes a sum in each step.
  [[nodiscard]] virtual std::unique_ptr<BackgroundSum> make_background_sum() = 0;
};

namespace detail {

/// TrainhookAllReduce, and its two halves.
[[nodiscard]] TRAINHOOK_DECL OpFamily all_reduce_ops() noexcept;

/// The reducer of a node. @throws FailedPreconditionError if the node came from a file.
[[nodiscard]] TRAINHOOK_DECL std::shared_ptr<AllReducer> all_reducer_of(const Node& node);

/// An `all_reduce` as two nodes. What can be computed between them hides the time that the reduction takes.
struct SplitAllReduce {
  Operation start{};   ///< TrainhookAllReduceStart: runs as soon as all values are there
  Operation finish{};  ///< TrainhookAllReduceFinish: its outputs are the results
};

/// Adds both halves; as `all_reduce` otherwise, but no gradient can pass.
/// @param previous runs before, half by half, so that the order is the same on every rank
[[nodiscard]] TRAINHOOK_DECL SplitAllReduce split_all_reduce(const std::vector<Output>& values, Reduction reduction,
                                                             const std::shared_ptr<AllReducer>& reducer,
                                                             const std::optional<SplitAllReduce>& previous);

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
