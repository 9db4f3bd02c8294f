// SPDX-License-Identifier: Apache-2.0
/// @file
/// Streaming metrics: measures over all batches of an evaluation, such as the accuracy on a test set.
#pragma once

#include <cstdint>
#include <string_view>

#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/node.hpp>

namespace trainhook {

namespace graph_keys {

inline constexpr std::string_view kMetricVariables = "metric_variables";  // Variable

}  // namespace graph_keys

/// A measure over many batches. Its state is in local variables, so it starts fresh in each session.
struct StreamingMetric {
  Output value{};   ///< the measure over all batches so far; 0 before the first
  Output update{};  ///< adds the current batch, then gives the measure
};

/// The metrics of `tf.compat.v1.metrics`, float32 scalars except where noted. Empty `weights` count every element once;
/// others have the shape of the measured tensor, or broadcast to it. Labels and predictions have the same shape; one of
/// them may have an additional last dimension of 1.
namespace metrics {

/// The weighted mean of all elements.
TRAINHOOK_DECL StreamingMetric mean(Output values, Output weights = {}, std::string_view name = "mean");

/// The fraction of predictions that equal their label.
TRAINHOOK_DECL StreamingMetric accuracy(Output labels, Output predictions, Output weights = {},
                                        std::string_view name = "accuracy");

TRAINHOOK_DECL StreamingMetric mean_absolute_error(Output labels, Output predictions, Output weights = {},
                                                   std::string_view name = "mean_absolute_error");
TRAINHOOK_DECL StreamingMetric mean_squared_error(Output labels, Output predictions, Output weights = {},
                                                  std::string_view name = "mean_squared_error");
TRAINHOOK_DECL StreamingMetric root_mean_squared_error(Output labels, Output predictions, Output weights = {},
                                                       std::string_view name = "root_mean_squared_error");

/// The counts of the four cases of a binary classifier; labels and predictions are converted to bool.
TRAINHOOK_DECL StreamingMetric true_positives(Output labels, Output predictions, Output weights = {},
                                              std::string_view name = "true_positives");
TRAINHOOK_DECL StreamingMetric true_negatives(Output labels, Output predictions, Output weights = {},
                                              std::string_view name = "true_negatives");
TRAINHOOK_DECL StreamingMetric false_positives(Output labels, Output predictions, Output weights = {},
                                               std::string_view name = "false_positives");
TRAINHOOK_DECL StreamingMetric false_negatives(Output labels, Output predictions, Output weights = {},
                                               std::string_view name = "false_negatives");

/// The fraction of positive predictions that are true.
TRAINHOOK_DECL StreamingMetric precision(Output labels, Output predictions, Output weights = {},
                                         std::string_view name = "precision");
/// The fraction of positive labels that are predicted.
TRAINHOOK_DECL StreamingMetric recall(Output labels, Output predictions, Output weights = {},
                                      std::string_view name = "recall");

enum class Curve { Roc, PrecisionRecall };

struct AucOptions {
  std::int64_t num_thresholds = 200;  ///< at least 2; equally spaced in [0, 1]
  Curve curve = Curve::Roc;
};

/// The area under the curve, by the trapezoidal rule between the thresholds. Predictions are in [0, 1].
TRAINHOOK_DECL StreamingMetric auc(Output labels, Output predictions, Output weights = {},
                                   const AucOptions& options = {}, std::string_view name = "auc");

/// How often label i (row) was predicted as class j (column): float64 [num_classes, num_classes]. Labels and
/// predictions are integers in [0, num_classes). Source: the matrix inside `tf.compat.v1.metrics.mean_iou`.
TRAINHOOK_DECL StreamingMetric confusion_matrix(Output labels, Output predictions, std::int64_t num_classes,
                                                Output weights = {}, std::string_view name = "confusion_matrix");

}  // namespace metrics
}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/model/impl/metrics.ipp>
#endif
