// SPDX-License-Identifier: Apache-2.0
/// @file
/// DistributedOptimizer: an optimizer for a model that all ranks of a job train together.
#pragma once

#include <concepts>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <trainhook/core/duration.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/graph/variable.hpp>
#include <trainhook/model/gradients.hpp>
#include <trainhook/model/optimizers.hpp>
#include <trainhook/mpi/all_reduce.hpp>
#include <trainhook/mpi/communicator.hpp>

namespace trainhook::mpi {

struct DistributedOptimizerOptions {
  Reduction reduction = Reduction::Mean;              ///< Sum: for a loss that each rank divides by the global batch
  std::size_t bucket_bytes = std::size_t{16} << 20U;  ///< at about this size, gradients are sent as one message
  Duration max_wait_secs = kMaxWait;                  ///< how long to wait for other ranks; then the job is ended
};

namespace detail {

/// Adds the reductions, in the order in which the gradients are computed. Each starts as soon as its gradients are
/// there, and is waited for after the whole backward pass.
[[nodiscard]] TRAINHOOK_DECL std::vector<GradientAndVariable> reduce_gradients(
    std::vector<GradientAndVariable> pairs, const Communicator& comm, const DistributedOptimizerOptions& options);

}  // namespace detail

/// Gives an optimizer the mean of the gradients of all ranks. If all have equally many rows and the loss is a mean over
/// rows, the step is that of one process with the global batch. Gradients of a layer are on their way while those of
/// the layers before it are computed. Slots have the same names as without MPI, so a checkpoint fits both; the same
/// number of ranks gives the same bits. Every rank must train the same graph from the same values, which a session with
/// `peers` or a BroadcastGlobalVariablesHook ensures. After a run that failed in the backward pass, the next one is a
/// FailedPreconditionError, because ranks may be out of step. Source: Horovod's `DistributedOptimizer`.
template <std::derived_from<Optimizer> Inner>
class DistributedOptimizer {
 public:
  /// @param comm the ranks that train together; the thread that began MPI must run the session
  DistributedOptimizer(Inner optimizer, Communicator comm, const DistributedOptimizerOptions& options = {})
      : optimizer_(std::move(optimizer)), comm_(std::move(comm)), options_(options) {}

  /// These are as in Optimizer. `compute_gradients` returns gradients that are reduced already, so clip them as usual.
  Operation minimize(Output loss, const std::optional<Variable>& global_step = std::nullopt,
                     const std::vector<Variable>& var_list = {}, const GradientOptions& options = {}) {
    return apply_gradients(compute_gradients(loss, var_list, options), global_step);
  }
  [[nodiscard]] std::vector<GradientAndVariable> compute_gradients(Output loss,
                                                                   const std::vector<Variable>& var_list = {},
                                                                   const GradientOptions& options = {}) const {
    return detail::reduce_gradients(optimizer_.compute_gradients(loss, var_list, options), comm_, options_);
  }
  Operation apply_gradients(const std::vector<GradientAndVariable>& all,
                            const std::optional<Variable>& global_step = std::nullopt, std::string_view name = {}) {
    return optimizer_.apply_gradients(all, global_step, name);
  }
  [[nodiscard]] std::optional<Variable> get_slot(const Variable& variable, std::string_view slot) const {
    return optimizer_.get_slot(variable, slot);
  }
  [[nodiscard]] const std::string& name() const noexcept { return optimizer_.name(); }

 private:
  Inner optimizer_;
  Communicator comm_;
  DistributedOptimizerOptions options_;
};

}  // namespace trainhook::mpi

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/mpi/impl/distributed_optimizer.ipp>
#endif
