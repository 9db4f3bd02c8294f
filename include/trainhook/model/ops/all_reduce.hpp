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

/// A sum over all ranks that is computed in the background, in every step in the same memory. It may be destroyed
/// before it is finished.
class BackgroundSum {
 public:
  TRAINHOOK_DECL virtual ~BackgroundSum();

  /// Copies the parts and starts to add them up. All ranks must start and finish the same sums in the same order, with
  /// the same number of elements. @throws FailedPreconditionError if ranks may be out of step, because a run failed
  /// between the start and the end of a sum.
  /// @param dtype float32, float64, int32 or int64
  virtual void start(std::span<const std::span<const std::byte>> parts, DType dtype) = 0;

  /// Waits for the sum. The result is valid until the next start.
  /// @throws FailedPreconditionError if no sum was started.
  [[nodiscard]] virtual std::span<const std::byte> finish() = 0;
};

/// Sums arrays over all ranks of a job. trainhook::mpi implements it for MPI.
class AllReducer {
 public:
  TRAINHOOK_DECL virtual ~AllReducer();
  [[nodiscard]] virtual int size() const noexcept = 0;  ///< the number of ranks

  /// Replaces each element on every rank by its sum over all ranks. All ranks must make the same calls in the same
  /// order, with the same number of elements.
  /// @param dtype of the elements: float32, float64, int32 or int64
  virtual void add_up(std::span<std::byte> values, DType dtype) = 0;

  /// Creates a background sum for one place of a program that starts and finishes it in each step.
  [[nodiscard]] virtual std::unique_ptr<BackgroundSum> make_background_sum() = 0;
};

namespace detail {

/// TrainhookAllReduce, TrainhookAllReduceStart and TrainhookAllReduceFinish.
[[nodiscard]] TRAINHOOK_DECL OpFamily all_reduce_ops() noexcept;

/// The reducer of a node. @throws FailedPreconditionError if the node came from a file.
[[nodiscard]] TRAINHOOK_DECL std::shared_ptr<AllReducer> all_reducer_of(const Node& node);

/// An `all_reduce` as two nodes, so that other work can run during the reduction.
struct SplitAllReduce {
  Operation start{};   ///< TrainhookAllReduceStart: runs as soon as all values are computed
  Operation finish{};  ///< TrainhookAllReduceFinish: its outputs are the results
};

/// Adds both nodes. Like `all_reduce`, but without a gradient.
/// @param previous its start runs before this start and its finish before this finish, so that the order is the same on
/// every rank
[[nodiscard]] TRAINHOOK_DECL SplitAllReduce split_all_reduce(const std::vector<Output>& values, Reduction reduction,
                                                             const std::shared_ptr<AllReducer>& reducer,
                                                             const std::optional<SplitAllReduce>& previous);

}  // namespace detail

/// The sum or mean of each value over all ranks, on every rank. All values go into one reduction, so they must have the
/// same dtype, and a run that needs one of the results computes all values. All ranks must run the same ops in the same
/// order. Gradients are reduced over all ranks too.
/// @param values each must have the same shape on every rank
/// @throws InvalidArgumentError for the mean of integers, or without values.
[[nodiscard]] TRAINHOOK_DECL std::vector<Output> all_reduce(const std::vector<Output>& values, Reduction reduction,
                                                            const std::shared_ptr<AllReducer>& reducer,
                                                            std::string_view name = {});

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/model/ops/impl/all_reduce.ipp>
#endif
