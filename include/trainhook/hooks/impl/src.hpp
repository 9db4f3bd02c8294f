// SPDX-License-Identifier: Apache-2.0
/// @file
/// All bodies of hooks/.
#pragma once

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#error "this file belongs to separate compilation: define TRAINHOOK_SEPARATE_COMPILATION for all files of the program"
#endif

#include <trainhook/hooks/impl/async_checkpoint_saver_hook.ipp>
#include <trainhook/hooks/impl/best_checkpoint_hook.ipp>
#include <trainhook/hooks/impl/checkpoint_input_pipeline_hook.ipp>
#include <trainhook/hooks/impl/checkpoint_saver_hook.ipp>
#include <trainhook/hooks/impl/checkpoint_saver_listener.ipp>
#include <trainhook/hooks/impl/early_stopping_hook.ipp>
#include <trainhook/hooks/impl/evaluation_hook.ipp>
#include <trainhook/hooks/impl/exponential_moving_average_hook.ipp>
#include <trainhook/hooks/impl/feed_fn_hook.ipp>
#include <trainhook/hooks/impl/final_ops_hook.ipp>
#include <trainhook/hooks/impl/global_step_waiter_hook.ipp>
#include <trainhook/hooks/impl/hparams_hook.ipp>
#include <trainhook/hooks/impl/lambda_hook.ipp>
#include <trainhook/hooks/impl/learning_rate_warm_up_hook.ipp>
#include <trainhook/hooks/impl/logging_tensor_hook.ipp>
#include <trainhook/hooks/impl/metric_watch.ipp>
#include <trainhook/hooks/impl/nan_tensor_hook.ipp>
#include <trainhook/hooks/impl/process_signals.ipp>
#include <trainhook/hooks/impl/progress_hook.ipp>
#include <trainhook/hooks/impl/reduce_learning_rate_on_plateau_hook.ipp>
#include <trainhook/hooks/impl/row_logger_hook.ipp>
#include <trainhook/hooks/impl/scaffold.ipp>
#include <trainhook/hooks/impl/signal_hook.ipp>
#include <trainhook/hooks/impl/step_counter_hook.ipp>
#include <trainhook/hooks/impl/stop_at_step_hook.ipp>
#include <trainhook/hooks/impl/stop_on_predicate_hook.ipp>
#include <trainhook/hooks/impl/summary_saver_hook.ipp>
#include <trainhook/hooks/saving/impl/background_writer.ipp>
#include <trainhook/hooks/saving/impl/best_checkpoints.ipp>
#include <trainhook/hooks/saving/impl/checkpoint_job.ipp>
#include <trainhook/hooks/text/impl/row_file.ipp>
#include <trainhook/hooks/text/impl/single_values.ipp>
#include <trainhook/hooks/text/impl/tensor_text.ipp>
