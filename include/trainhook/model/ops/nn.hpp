// SPDX-License-Identifier: Apache-2.0
/// @file
/// Ops of neural networks: bias, activations, softmax, cross entropies.
#pragma once

#include <string_view>

#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/graph/op_def.hpp>

namespace trainhook {
namespace detail {

/// BiasAdd, the activations, Softmax, LogSoftmax, the cross entropies, L2Loss, CheckNumerics, and the ops of their
/// gradients.
[[nodiscard]] TRAINHOOK_DECL OpFamily nn_ops() noexcept;

}  // namespace detail

/// Adds a vector to the last dimension. Source: `tf.nn.bias_add`, data format NHWC.
TRAINHOOK_DECL Output bias_add(Output value, Output bias, std::string_view name = {});

/// `max(x, 0)`. Source: `tf.nn.relu`.
TRAINHOOK_DECL Output relu(Output x, std::string_view name = {});
/// `min(max(x, 0), 6)`. Source: `tf.nn.relu6`.
TRAINHOOK_DECL Output relu6(Output x, std::string_view name = {});
/// `x` if it is positive, else `exp(x) - 1`. Source: `tf.nn.elu`.
TRAINHOOK_DECL Output elu(Output x, std::string_view name = {});
/// `log(1 + exp(x))`. Source: `tf.math.softplus`.
TRAINHOOK_DECL Output softplus(Output x, std::string_view name = {});
/// `1 / (1 + exp(-x))`. Source: `tf.sigmoid`.
TRAINHOOK_DECL Output sigmoid(Output x, std::string_view name = {});
/// The hyperbolic tangent. Source: `tf.tanh`.
TRAINHOOK_DECL Output tanh(Output x, std::string_view name = {});
/// A scaled `elu` that preserves mean 0 and variance 1. Source: `tf.nn.selu`, doi:10.48550/arXiv.1706.02515.
TRAINHOOK_DECL Output selu(Output x, std::string_view name = {});
/// `x / (1 + abs(x))`. Source: `tf.nn.softsign`.
TRAINHOOK_DECL Output softsign(Output x, std::string_view name = {});
/// `x` if it is positive, else `alpha * x`. Source: `tf.nn.leaky_relu`.
TRAINHOOK_DECL Output leaky_relu(Output x, float alpha = 0.2F, std::string_view name = {});

/// `exp(logits)` scaled to a sum of 1 over the last dimension. Source: `tf.nn.softmax`.
TRAINHOOK_DECL Output softmax(Output logits, std::string_view name = {});
/// The logarithm of `softmax(logits)`. Source: `tf.nn.log_softmax`.
TRAINHOOK_DECL Output log_softmax(Output logits, std::string_view name = {});

/// The cross entropy of softmax(logits[i]) with class labels[i], for each i of the batch.
/// Source: `tf.nn.sparse_softmax_cross_entropy_with_logits`. Labels int32 or int64 [batch], logits floating [batch,
/// classes].
TRAINHOOK_DECL Output sparse_softmax_cross_entropy_with_logits(Output labels, Output logits,
                                                               std::string_view name = {});

/// The cross entropy of softmax(logits[i]) with the distribution labels[i]. No gradient flows to the labels.
/// Source: `tf.compat.v1.nn.softmax_cross_entropy_with_logits`. Both floating [batch, classes].
TRAINHOOK_DECL Output softmax_cross_entropy_with_logits(Output labels, Output logits, std::string_view name = {});
/// The same with a gradient for the labels too. Source: `tf.compat.v1.nn.softmax_cross_entropy_with_logits_v2`.
TRAINHOOK_DECL Output softmax_cross_entropy_with_logits_v2(Output labels, Output logits, std::string_view name = {});

/// The cross entropy of sigmoid(logits) with labels in [0, 1], elementwise, in a form that does not overflow.
/// Source: `tf.nn.sigmoid_cross_entropy_with_logits`. Both floating and of one shape.
TRAINHOOK_DECL Output sigmoid_cross_entropy_with_logits(Output labels, Output logits,
                                                        std::string_view name = "logistic_loss");

/// Half the sum of squares. Source: `tf.nn.l2_loss`.
TRAINHOOK_DECL Output l2_loss(Output x, std::string_view name = {});

/// `x`; a run fails with `message` if it contains NaN or infinity. Source: `tf.debugging.check_numerics`.
TRAINHOOK_DECL Output check_numerics(Output x, std::string_view message, std::string_view name = {});

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/model/ops/impl/nn.ipp>
#endif
