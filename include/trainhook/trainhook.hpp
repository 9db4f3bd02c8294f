// SPDX-License-Identifier: Apache-2.0
/// @file
/// The headers that most programs need: loops, sessions, hooks, checkpoints, input, graphs. Include by name what only
/// some programs need: engines (engine/), media/, testing/, session creators (monitored/), threads and queues
/// (session/), graph/metrics.hpp, graph/moving_averages.hpp, graph_def/ (import and export of graphs), io/,
/// events/event_reader.hpp.
#pragma once

#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/core/tensor.hpp>

#include <trainhook/loop/loop_iterator.hpp>
#include <trainhook/loop/loop_session.hpp>

#include <trainhook/monitored/local_master.hpp>
#include <trainhook/monitored/monitored_training_session.hpp>

#include <trainhook/session/hook_services.hpp>
#include <trainhook/session/session_run_hook.hpp>

#include <trainhook/hooks/async_checkpoint_saver_hook.hpp>
#include <trainhook/hooks/best_checkpoint_hook.hpp>
#include <trainhook/hooks/checkpoint_input_pipeline_hook.hpp>
#include <trainhook/hooks/checkpoint_saver_hook.hpp>
#include <trainhook/hooks/checkpoint_saver_listener.hpp>
#include <trainhook/hooks/early_stopping_hook.hpp>
#include <trainhook/hooks/evaluation_hook.hpp>
#include <trainhook/hooks/feed_fn_hook.hpp>
#include <trainhook/hooks/final_ops_hook.hpp>
#include <trainhook/hooks/global_step_waiter_hook.hpp>
#include <trainhook/hooks/lambda_hook.hpp>
#include <trainhook/hooks/logging_tensor_hook.hpp>
#include <trainhook/hooks/nan_tensor_hook.hpp>
#include <trainhook/hooks/profiler_hook.hpp>
#include <trainhook/hooks/progress_hook.hpp>
#include <trainhook/hooks/scaffold.hpp>
#include <trainhook/hooks/signal_hook.hpp>
#include <trainhook/hooks/step_counter_hook.hpp>
#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/hooks/summary_saver_hook.hpp>

#include <trainhook/checkpoint/iterator_saveable.hpp>
#include <trainhook/checkpoint/load_checkpoint.hpp>
#include <trainhook/checkpoint/saver.hpp>
#include <trainhook/checkpoint/tensor_bundle.hpp>

#include <trainhook/data/dataset.hpp>

#include <trainhook/events/file_writer.hpp>

#include <trainhook/graph/global_step.hpp>
#include <trainhook/graph/layers.hpp>
#include <trainhook/graph/learning_rate_schedules.hpp>
#include <trainhook/graph/model_summary.hpp>
#include <trainhook/graph/ops.hpp>
#include <trainhook/graph/optimizers.hpp>
