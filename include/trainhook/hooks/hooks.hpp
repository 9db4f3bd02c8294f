// SPDX-License-Identifier: Apache-2.0
/// @file
/// All stock hooks.
#pragma once

#include <trainhook/hooks/async_checkpoint_saver_hook.hpp>
#include <trainhook/hooks/best_checkpoint_hook.hpp>
#include <trainhook/hooks/checkpoint_input_pipeline_hook.hpp>
#include <trainhook/hooks/checkpoint_saver_hook.hpp>
#include <trainhook/hooks/row_logger_hook.hpp>
#include <trainhook/hooks/early_stopping_hook.hpp>
#include <trainhook/hooks/evaluation_hook.hpp>
#include <trainhook/hooks/exponential_moving_average_hook.hpp>
#include <trainhook/hooks/feed_fn_hook.hpp>
#include <trainhook/hooks/final_ops_hook.hpp>
#include <trainhook/hooks/global_step_waiter_hook.hpp>
#include <trainhook/hooks/hparams_hook.hpp>
#include <trainhook/hooks/lambda_hook.hpp>
#include <trainhook/hooks/learning_rate_warm_up_hook.hpp>
#include <trainhook/hooks/logging_tensor_hook.hpp>
#include <trainhook/hooks/nan_tensor_hook.hpp>
#include <trainhook/hooks/progress_hook.hpp>
#include <trainhook/hooks/reduce_learning_rate_on_plateau_hook.hpp>
#include <trainhook/hooks/signal_hook.hpp>
#include <trainhook/hooks/step_counter_hook.hpp>
#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/hooks/stop_on_predicate_hook.hpp>
#include <trainhook/hooks/summary_saver_hook.hpp>
