// SPDX-License-Identifier: Apache-2.0
/// @file
/// The names of the standard collections, as in TensorFlow's `tf.GraphKeys`.
#pragma once

#include <string_view>

namespace trainhook::graph_keys {

inline constexpr std::string_view kGlobalVariables = "variables";                        // Variable
inline constexpr std::string_view kTrainableVariables = "trainable_variables";           // Variable
inline constexpr std::string_view kLocalVariables = "local_variables";                   // Variable
inline constexpr std::string_view kMovingAverageVariables = "moving_average_variables";  // Variable
inline constexpr std::string_view kGlobalStep = "global_step";                           // Variable
inline constexpr std::string_view kGlobalStepRead = "global_step_read_op_cache";         // Output
inline constexpr std::string_view kSummaries = "summaries";                              // Output
inline constexpr std::string_view kSummaryOp = "summary_op";                             // Output
inline constexpr std::string_view kTrainOp = "train_op";                                 // Operation
inline constexpr std::string_view kUpdateOps = "update_ops";                             // Operation
inline constexpr std::string_view kInitOp = "init_op";                                   // Operation
inline constexpr std::string_view kLocalInitOp = "local_init_op";                        // Operation
inline constexpr std::string_view kReadyOp = "ready_op";                                 // Output
inline constexpr std::string_view kReadyForLocalInitOp = "ready_for_local_init_op";      // Output
inline constexpr std::string_view kSavers = "savers";                                    // std::shared_ptr<Saver>
inline constexpr std::string_view kSaveableObjects = "saveable_objects";                 // std::shared_ptr<Saveable>
inline constexpr std::string_view kIterators = "iterators";                              // detail::IteratorResource
inline constexpr std::string_view kQueueRunners = "queue_runners";  // detail::QueueRunnerDef, shared QueueRunners

}  // namespace trainhook::graph_keys
