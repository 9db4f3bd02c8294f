// SPDX-License-Identifier: Apache-2.0
/// @file
/// Import of graphs, object-based checkpoints, and the lists of ops and kernels.
#pragma once

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#error "this file belongs to separate compilation: define TRAINHOOK_SEPARATE_COMPILATION for all files of the program"
#endif

#include <trainhook/compat/impl/function_calls.ipp>
#include <trainhook/compat/impl/graph_def_reader.ipp>
#include <trainhook/compat/impl/import_graph_def.ipp>
#include <trainhook/compat/impl/import_meta_graph.ipp>
#include <trainhook/compat/impl/kernels.ipp>
#include <trainhook/compat/impl/meta_graph_def_reader.ipp>
#include <trainhook/compat/impl/object_graph_keys.ipp>
#include <trainhook/compat/impl/op_versions.ipp>
#include <trainhook/compat/impl/ops.ipp>
#include <trainhook/compat/impl/queue_runners.ipp>
#include <trainhook/compat/impl/resource_variables.ipp>
#include <trainhook/compat/impl/unknown_nodes.ipp>
