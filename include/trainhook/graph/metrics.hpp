// SPDX-License-Identifier: Apache-2.0
/// @file
/// Streaming metrics: figures over all batches of an evaluation, such as the accuracy on a test set.
#pragma once

#include <cstdint>
#include <string_view>

#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/node.hpp>

namespace trainhook {

namespace graph_keys {

inline constexpr std::string_view kMetricVariables = "metric_variables";  // Variable

}  // namespace graph_keys

/// A figure over many batches. Its state is kept in local variables, so it starts from nothing in each session.
struct StreamingMetric {
  Output value{};   ///< the figure over all batches taken so far; 0 before the first
  Output update{};  ///< takes one more batch, then gives the figure
};

/// The metrics of `tf.compat.v1.metrics`: float32 scalars, unless said otherwise. `weights` without value counts every
/// element once; else it has the shape of what is measured, or one that broadcasts to it. Labels and predictions have
/// the same shape; a last dimension of 1 that only one of them has does not count.
namespace metrics {

/// The weighted mean of all elements.
TRAINHOOK_DECL StreamingMetric mean(Output values, Output weights = {}, std::string_view name = "mean");

/// The share of predictions that equal their label.
TRAINHOOK_DECL StreamingMetric accuracy(Output labels, Output predictions, Output weights = {},
                                        std::string_view name = "accuracy");

TRAINHOOK_DECL StreamingMetric mean_absolute_error(Output labels, Output predictions, Output weights = {},
                                                   std::string_view name = "mean_absolute_error");
TRAINHOOK_DECL StreamingMetric mean_squared_error(Output labels, Output predictions, Output weights = {},
                                                  std::string_view name = "mean_squared_error");
TRAINHOOK_DECL StreamingMetric root_mean_squared_error(Output labels, Output predictions, Output weights = {},
                                                       std::string_view name = "root_mean_squared_error");

/// Counts of the four cases of a binary classifier; labels and predictions count as booleans.
TRAINHOOK_DECL StreamingMetric true_positives(Output labels, Output predictions, Output weights = {},
                                              std::string_view name = "true_positives");
TRAINHOOK_DECL StreamingMetric true_negatives(Output labels, Output predictions, Output weights = {},
                                              std::string_view name = "true_negatives");
TRAINHOOK_DECL StreamingMetric false_positives(Output labels, Output predictions, Output weights = {},
                                               std::string_view name = "false_positives");
TRAINHOOK_DECL StreamingMetric false_negatives(Output labels, Output predictions, Output weights = {},
                                               std::string_view name = "false_negatives");

/// True positives of all positive predictions.
TRAINHOOK_DECL StreamingMetric precision(Output labels, Output predictions, Output weights = {},
                                         std::string_view name = "precision");
/// True positives of all positive labels.
TRAINHOOK_DECL StreamingMetric recall(Output labels, Output predictions, Output weights = {},
                                      std::string_view name = "recall");

enum class Curve { Roc, PrecisionRecall };

struct AucOptions {
  std::int64_t num_thresholds = 200;  ///< at least 2; between 0 and 1, at equal distances
  Curve curve = Curve::Roc;
};

/// The area under the curve, by trapezoids between the thresholds. Predictions are in [0, 1].
TRAINHOOK_DECL StreamingMetric auc(Output labels, Output predictions, Output weights = {},
                                   const AucOptions& options = {}, std::string_view name = "auc");

/// How often class i (row) was taken for class j (column): float64 [num_classes, num_classes]. Labels and predictions
/// are integers in [0, num_classes). Source: the matrix inside `tf.compat.v1.metrics.mean_iou`.
TRAINHOOK_DECL StreamingMetric confusion_matrix(Output labels, Output predictions, std::int64_t num_classes,
                                                Output weights = {}, std::string_view name = "confusion_matrix");

}  // namespace metrics
}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/graph/impl/metrics.ipp>
#endif
