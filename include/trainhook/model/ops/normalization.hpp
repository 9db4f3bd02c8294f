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
  bool is_training = true;              ///< uses the batch's mean and variance; false: the given ones
  float exponential_avg_factor = 1.0F;  ///< the weight of the batch in the resulting means; 1: only the batch
};

/// The result of `fused_batch_norm`.
struct FusedBatchNorm {
  Output y{};
  Output batch_mean{};
  Output batch_variance{};  ///< unbiased: divided by the count less one
};

namespace detail {

/// FusedBatchNormV3 and its gradient.
[[nodiscard]] TRAINHOOK_DECL OpFamily normalization_ops() noexcept;

}  // namespace detail

/// `(x - mean) / sqrt(variance + epsilon) * scale + offset` for each channel; all inputs except `x` have one element
/// per channel. In training, `mean` and `variance` may be empty vectors, unless `exponential_avg_factor` is less than
/// 1. Source: `tf.compat.v1.nn.fused_batch_norm`, data format NHWC.
TRAINHOOK_DECL FusedBatchNorm fused_batch_norm(Output x, Output scale, Output offset, Output mean, Output variance,
                                               const FusedBatchNormOptions& options = {}, std::string_view name = {});

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/model/ops/impl/normalization.ipp>
#endif
