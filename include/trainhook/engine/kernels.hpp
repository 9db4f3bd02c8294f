// SPDX-License-Identifier: Apache-2.0
/// @file
/// The groups of kernels of the library, for the options of a GraphSession.
#pragma once

#include <trainhook/core/linkage.hpp>
#include <trainhook/engine/kernel.hpp>

namespace trainhook::kernels {

/// Kernels of TrainhookAllReduce and its two halves, TrainhookAllReduceStart and TrainhookAllReduceFinish.
[[nodiscard]] TRAINHOOK_DECL KernelGroup all_reduce() noexcept;

/// Kernels of shapes, reshaping, filling, casting and one-hot vectors.
[[nodiscard]] TRAINHOOK_DECL KernelGroup array() noexcept;

/// Kernels of convolution over images [batch, height, width, channels], with its gradients.
[[nodiscard]] TRAINHOOK_DECL KernelGroup conv() noexcept;

/// Kernels of input pipelines: the session's iterator, and its next element.
[[nodiscard]] TRAINHOOK_DECL KernelGroup data() noexcept;

/// Kernels of depthwise convolution over images [batch, height, width, channels], with its gradients.
[[nodiscard]] TRAINHOOK_DECL KernelGroup depthwise() noexcept;

/// Kernels of elementwise arithmetic, comparison, logic and functions, with NumPy's broadcasting.
[[nodiscard]] TRAINHOOK_DECL KernelGroup math() noexcept;

/// Kernels of matrix products.
[[nodiscard]] TRAINHOOK_DECL KernelGroup matmul() noexcept;

/// Kernels that move elements: transpose, concat, slice, tile.
[[nodiscard]] TRAINHOOK_DECL KernelGroup movement() noexcept;

/// Kernels of neural networks: bias, activations, softmax and cross entropies, with their gradients.
[[nodiscard]] TRAINHOOK_DECL KernelGroup nn() noexcept;

/// Kernels of normalization over a batch of images [batch, height, width, channels], with its gradient.
[[nodiscard]] TRAINHOOK_DECL KernelGroup normalization() noexcept;

/// Kernels of pooling over images [batch, height, width, channels], with their gradients.
[[nodiscard]] TRAINHOOK_DECL KernelGroup pool() noexcept;

/// Kernels of FIFOQueue: the session's queue, and the ops on it.
[[nodiscard]] TRAINHOOK_DECL KernelGroup queue() noexcept;

/// Kernels of random ops, with counter-based generators whose positions are part of the session's state.
[[nodiscard]] TRAINHOOK_DECL KernelGroup random() noexcept;

/// Kernels of the largest elements of rows: top_k, in_top_k.
[[nodiscard]] TRAINHOOK_DECL KernelGroup ranking() noexcept;

/// Kernels that reduce dimensions: sums and others, and argmax.
[[nodiscard]] TRAINHOOK_DECL KernelGroup reduction() noexcept;

/// Kernels that resize images, with their gradients.
[[nodiscard]] TRAINHOOK_DECL KernelGroup resize() noexcept;

/// The kernel that reads checkpoints.
[[nodiscard]] TRAINHOOK_DECL KernelGroup restore() noexcept;

/// Kernels that select elements by index, segment or condition.
[[nodiscard]] TRAINHOOK_DECL KernelGroup selection() noexcept;

/// Kernels of further elementwise functions, such as erf and tan.
[[nodiscard]] TRAINHOOK_DECL KernelGroup special() noexcept;

/// Kernels that assign variables.
[[nodiscard]] TRAINHOOK_DECL KernelGroup state() noexcept;

/// Kernels of strided slices and of their gradient.
[[nodiscard]] TRAINHOOK_DECL KernelGroup strided_slice() noexcept;

/// Kernels whose result is a serialized `Summary` for TensorBoard.
[[nodiscard]] TRAINHOOK_DECL KernelGroup summary() noexcept;

/// Kernels of optimizers, each a single pass over a variable, its slots and its gradient.
[[nodiscard]] TRAINHOOK_DECL KernelGroup training() noexcept;

}  // namespace trainhook::kernels

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/engine/kernels/impl/all_reduce.ipp>
#include <trainhook/engine/kernels/impl/array.ipp>
#include <trainhook/engine/kernels/impl/conv.ipp>
#include <trainhook/engine/kernels/impl/data.ipp>
#include <trainhook/engine/kernels/impl/depthwise.ipp>
#include <trainhook/engine/kernels/impl/math.ipp>
#include <trainhook/engine/kernels/impl/matmul.ipp>
#include <trainhook/engine/kernels/impl/movement.ipp>
#include <trainhook/engine/kernels/impl/nn.ipp>
#include <trainhook/engine/kernels/impl/normalization.ipp>
#include <trainhook/engine/kernels/impl/pool.ipp>
#include <trainhook/engine/kernels/impl/queue.ipp>
#include <trainhook/engine/kernels/impl/random.ipp>
#include <trainhook/engine/kernels/impl/ranking.ipp>
#include <trainhook/engine/kernels/impl/reduction.ipp>
#include <trainhook/engine/kernels/impl/resize.ipp>
#include <trainhook/engine/kernels/impl/restore.ipp>
#include <trainhook/engine/kernels/impl/selection.ipp>
#include <trainhook/engine/kernels/impl/special.ipp>
#include <trainhook/engine/kernels/impl/state.ipp>
#include <trainhook/engine/kernels/impl/strided_slice.ipp>
#include <trainhook/engine/kernels/impl/summary.ipp>
#include <trainhook/engine/kernels/impl/training.ipp>
#endif
