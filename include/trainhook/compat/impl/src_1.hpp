// SPDX-License-Identifier: Apache-2.0
/// @file
/// Classes of TensorFlow that only ports of its programs use, import of graphs, object-based checkpoints.
#pragma once

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#error "this file belongs to separate compilation: define TRAINHOOK_SEPARATE_COMPILATION for all files of the program"
#endif

#include <trainhook/compat/impl/checkpoint_manager.ipp>
#include <trainhook/compat/impl/checkpoints_iterator.ipp>
#include <trainhook/compat/impl/function_calls.ipp>
#include <trainhook/compat/impl/graph_def_reader.ipp>
#include <trainhook/compat/impl/op_versions.ipp>
#include <trainhook/compat/impl/import_graph_def.ipp>
#include <trainhook/compat/impl/import_meta_graph.ipp>
#include <trainhook/compat/impl/init_from_checkpoint.ipp>
#include <trainhook/compat/impl/looper_thread.ipp>
#include <trainhook/compat/impl/object_graph_keys.ipp>
#include <trainhook/compat/impl/ops.ipp>
#include <trainhook/compat/impl/queue_runner.ipp>
#include <trainhook/compat/impl/resource_variables.ipp>
#include <trainhook/compat/impl/singular_monitored_session.ipp>
#include <trainhook/compat/impl/stop_hooks.ipp>
