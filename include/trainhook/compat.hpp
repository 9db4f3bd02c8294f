// SPDX-License-Identifier: Apache-2.0
/// @file
/// What TensorFlow wrote: import of graphs, the ops and kernels that only imported graphs need, object-based
/// checkpoints.
#pragma once

#include <trainhook/compat/graph_def_reader.hpp>
#include <trainhook/compat/import_graph_def.hpp>
#include <trainhook/compat/import_meta_graph.hpp>
#include <trainhook/compat/kernels.hpp>
#include <trainhook/compat/meta_graph_def_reader.hpp>
#include <trainhook/compat/object_graph_keys.hpp>
#include <trainhook/compat/ops.hpp>
