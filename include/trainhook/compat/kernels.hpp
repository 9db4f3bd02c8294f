// SPDX-License-Identifier: Apache-2.0
/// @file
/// The kernels of the op types that only imported graphs have.
#pragma once

#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/engine/kernel.hpp>

namespace trainhook {
namespace kernels {

/// Kernels of Switch and Merge, assertions, and Print.
[[nodiscard]] TRAINHOOK_DECL KernelGroup control_flow() noexcept;

/// The kernel of sums of products by an equation of labels.
[[nodiscard]] TRAINHOOK_DECL KernelGroup einsum() noexcept;

/// Kernels of local response normalization, with its gradient.
[[nodiscard]] TRAINHOOK_DECL KernelGroup local_response() noexcept;

/// Kernels of partitions, buckets, counts and differences of elements, sparse and accidental hits.
[[nodiscard]] TRAINHOOK_DECL KernelGroup partition() noexcept;

/// Kernels that rearrange elements: space, depth and batch, padding, sequences, bands.
[[nodiscard]] TRAINHOOK_DECL KernelGroup rearrange() noexcept;

/// Kernels that add, subtract and assign rows of variables.
[[nodiscard]] TRAINHOOK_DECL KernelGroup scatter() noexcept;

/// Kernels that update rows of variables, and kernels of Adadelta, Ftrl and the proximal optimizers.
[[nodiscard]] TRAINHOOK_DECL KernelGroup sparse_training() noexcept;

/// Kernels of division that rounds towards zero, and of its remainder.
[[nodiscard]] TRAINHOOK_DECL KernelGroup truncation() noexcept;

}  // namespace kernels

namespace compat {

/// All of them, for a session of a graph that was imported: `EigenSession(graph, {.kernels = compat::kernels()})`.
[[nodiscard]] TRAINHOOK_DECL std::vector<KernelGroup> kernels();

}  // namespace compat
}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/compat/kernels/impl/kernels.ipp>
#include <trainhook/compat/kernels/impl/control_flow.ipp>
#include <trainhook/compat/kernels/impl/einsum.ipp>
#include <trainhook/compat/kernels/impl/local_response.ipp>
#include <trainhook/compat/kernels/impl/partition.ipp>
#include <trainhook/compat/kernels/impl/rearrange.ipp>
#include <trainhook/compat/kernels/impl/scatter.ipp>
#include <trainhook/compat/kernels/impl/sparse_training.ipp>
#include <trainhook/compat/kernels/impl/truncation.ipp>
#endif
