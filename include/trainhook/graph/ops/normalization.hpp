// SPDX-License-Identifier: Apache-2.0
/// @file
/// Normalization of images [batch, height, width, channels] over a batch.
#pragma once

#include <string_view>

#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/graph/op_def.hpp>

namespace trainhook {

struct FusedBatchNormOptions {
  float epsilon = 0.001F;               ///< added to the variance
  bool is_training = true;              ///< by the batch's own mean and variance, else by those given
  float exponential_avg_factor = 1.0F;  ///< the batch's share in the means that come out; 1: they are the batch's own
};

/// What `fused_batch_norm` gives.
struct FusedBatchNorm {
  Output y{};
  Output batch_mean{};
  Output batch_variance{};  ///< of a sample: divided by one less than the count
};

namespace detail {

/// FusedBatchNormV3 and LRN, and their gradients.
[[nodiscard]] TRAINHOOK_DECL OpFamily normalization_ops() noexcept;

}  // namespace detail

/// `(x - mean) / sqrt(variance + epsilon) * scale + offset` for each channel; all but `x` are vectors of the channels.
/// For training, `mean` and `variance` may be empty vectors, unless `exponential_avg_factor` is less than 1.
/// Source: `tf.compat.v1.nn.fused_batch_norm`, data format NHWC.
TRAINHOOK_DECL FusedBatchNorm fused_batch_norm(Output x, Output scale, Output offset, Output mean, Output variance,
                                               const FusedBatchNormOptions& options = {}, std::string_view name = {});

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/graph/ops/impl/normalization.ipp>
#endif
