// SPDX-License-Identifier: Apache-2.0
/// @file
/// What ports of TensorFlow programs use: import of graphs and the ops that only those have, object-based checkpoints,
/// queue runners, and classes around training that a new program does without. For the kernels see compat_kernels.hpp.
#pragma once

#include <trainhook/compat/basic_train_loop.hpp>
#include <trainhook/compat/checkpoint_manager.hpp>
#include <trainhook/compat/checkpoints_iterator.hpp>
#include <trainhook/compat/graph_def_reader.hpp>
#include <trainhook/compat/import_graph_def.hpp>
#include <trainhook/compat/import_meta_graph.hpp>
#include <trainhook/compat/init_from_checkpoint.hpp>
#include <trainhook/compat/looper_thread.hpp>
#include <trainhook/compat/never_trigger_timer.hpp>
#include <trainhook/compat/object_graph_keys.hpp>
#include <trainhook/compat/ops.hpp>
#include <trainhook/compat/queue_runner.hpp>
#include <trainhook/compat/singular_monitored_session.hpp>
#include <trainhook/compat/stop_hooks.hpp>
