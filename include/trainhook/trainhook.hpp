// SPDX-License-Identifier: Apache-2.0
/// @file
/// The headers that most programs need: loops, sessions, the usual hooks, checkpoints. Each module has such a header,
/// too: data.hpp for input pipelines, model.hpp and engine.hpp for graphs, estimator.hpp, media.hpp, ranks.hpp,
/// mpi.hpp, torch.hpp, exchange.hpp, compat.hpp, testing.hpp. Include by name what only some programs need: the other
/// hooks
/// (`hooks/hooks.hpp` brings all), session creators (monitored/), threads (session/), checkpoints without a session
/// (checkpoint/), the log (core/log.hpp), io/, events/.
#pragma once

#include <trainhook/core/error.hpp>
#include <trainhook/core/tensor.hpp>

#include <trainhook/loop/loop_session.hpp>

#include <trainhook/monitored/monitored_training_session.hpp>

#include <trainhook/session/session_run_hook.hpp>

#include <trainhook/hooks/async_checkpoint_saver_hook.hpp>
#include <trainhook/hooks/best_checkpoint_hook.hpp>
#include <trainhook/hooks/checkpoint_saver_hook.hpp>
#include <trainhook/hooks/early_stopping_hook.hpp>
#include <trainhook/hooks/evaluation_hook.hpp>
#include <trainhook/hooks/final_ops_hook.hpp>
#include <trainhook/hooks/logging_tensor_hook.hpp>
#include <trainhook/hooks/nan_tensor_hook.hpp>
#include <trainhook/hooks/progress_hook.hpp>
#include <trainhook/hooks/scaffold.hpp>
#include <trainhook/hooks/signal_hook.hpp>
#include <trainhook/hooks/stop_at_step_hook.hpp>

#include <trainhook/checkpoint/saver.hpp>

#include <trainhook/graph/global_step.hpp>
#include <trainhook/graph/ops/summary.hpp>
