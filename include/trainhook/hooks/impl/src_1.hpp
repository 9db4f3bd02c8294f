// SPDX-License-Identifier: Apache-2.0
/// @file
/// Hooks that save, that stop a run, and that act on metrics.
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
#include <trainhook/hooks/impl/global_step_waiter_hook.ipp>
#include <trainhook/hooks/impl/learning_rate_variable.ipp>
#include <trainhook/hooks/impl/learning_rate_warm_up_hook.ipp>
#include <trainhook/hooks/impl/metric_watch.ipp>
#include <trainhook/hooks/impl/multi_step_stop_at_step_hook.ipp>
#include <trainhook/hooks/impl/nan_tensor_hook.ipp>
#include <trainhook/hooks/impl/process_signals.ipp>
#include <trainhook/hooks/impl/reduce_learning_rate_on_plateau_hook.ipp>
#include <trainhook/hooks/impl/scaffold.ipp>
#include <trainhook/hooks/impl/signal_hook.ipp>
#include <trainhook/hooks/impl/stop_after_n_evals_hook.ipp>
#include <trainhook/hooks/impl/stop_at_checkpoint_step_hook.ipp>
#include <trainhook/hooks/impl/stop_at_step_hook.ipp>
#include <trainhook/hooks/impl/stop_on_predicate_hook.ipp>
#include <trainhook/hooks/saving/impl/background_writer.ipp>
#include <trainhook/hooks/saving/impl/best_checkpoints.ipp>
#include <trainhook/hooks/saving/impl/checkpoint_job.ipp>
#include <trainhook/hooks/saving/impl/graph_export.ipp>
#include <trainhook/hooks/text/impl/single_values.ipp>
