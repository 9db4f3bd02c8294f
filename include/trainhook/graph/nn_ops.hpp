// SPDX-License-Identifier: Apache-2.0
/// @file
/// Ops of neural networks: bias, activations, softmax, cross entropies.
#pragma once

#include <string_view>

#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/node.hpp>

namespace trainhook {
namespace detail {

TRAINHOOK_DECL Output activation(std::string_view type, const Output& x, std::string_view name);

}  // namespace detail

/// Adds a vector to the last dimension. Source: `tf.nn.bias_add`, data format NHWC.
TRAINHOOK_DECL Output bias_add(Output value, Output bias, std::string_view name = {});

TRAINHOOK_DECL Output relu(Output x, std::string_view name = {});
TRAINHOOK_DECL Output relu6(Output x, std::string_view name = {});
TRAINHOOK_DECL Output elu(Output x, std::string_view name = {});
TRAINHOOK_DECL Output softplus(Output x, std::string_view name = {});
TRAINHOOK_DECL Output sigmoid(Output x, std::string_view name = {});
TRAINHOOK_DECL Output tanh(Output x, std::string_view name = {});
/// `x`, times `alpha` where it is negative. Source: `tf.nn.leaky_relu`.
TRAINHOOK_DECL Output leaky_relu(Output x, float alpha = 0.2F, std::string_view name = {});

/// Over the last dimension. Source: `tf.nn.softmax`, `tf.nn.log_softmax`.
TRAINHOOK_DECL Output softmax(Output logits, std::string_view name = {});
TRAINHOOK_DECL Output log_softmax(Output logits, std::string_view name = {});

/// The cross entropy of softmax(logits[i]) with class labels[i], for each i of the batch.
/// Source: `tf.nn.sparse_softmax_cross_entropy_with_logits`. Labels int32 or int64 [batch], logits floating [batch,
/// classes].
TRAINHOOK_DECL Output sparse_softmax_cross_entropy_with_logits(Output labels, Output logits,
                                                               std::string_view name = {});

/// The cross entropy of softmax(logits[i]) with the distribution labels[i]. No gradient flows to the labels.
/// Source: `tf.compat.v1.nn.softmax_cross_entropy_with_logits`. Both floating [batch, classes].
TRAINHOOK_DECL Output softmax_cross_entropy_with_logits(Output labels, Output logits, std::string_view name = {});

/// The cross entropy of sigmoid(logits) with labels in [0, 1], elementwise, in a form that does not overflow.
/// Source: `tf.nn.sigmoid_cross_entropy_with_logits`. Both floating and of one shape.
TRAINHOOK_DECL Output sigmoid_cross_entropy_with_logits(Output labels, Output logits,
                                                        std::string_view name = "logistic_loss");

/// Half the sum of squares. Source: `tf.nn.l2_loss`.
TRAINHOOK_DECL Output l2_loss(Output x, std::string_view name = {});

/// `x`, or when it holds a NaN or an infinity an error that says `message`. Source: `tf.debugging.check_numerics`.
TRAINHOOK_DECL Output check_numerics(Output x, std::string_view message, std::string_view name = {});

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/graph/impl/nn_ops.ipp>
#endif
