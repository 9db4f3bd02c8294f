// SPDX-License-Identifier: Apache-2.0
/// @file
/// All of model/: ops, layers, initializers, optimizers, gradients, metrics, schedules, moving averages, export of
/// graphs. And a model's input: datasets, the iterators of graphs, the hook that saves their positions.
#pragma once

#include <trainhook/data.hpp>
#include <trainhook/model/gradients.hpp>
#include <trainhook/model/graph_def/graph_def_writer.hpp>
#include <trainhook/model/graph_def/meta_graph_def.hpp>
#include <trainhook/model/initializers.hpp>
#include <trainhook/model/layers.hpp>
#include <trainhook/model/learning_rate_schedules.hpp>
#include <trainhook/model/metrics.hpp>
#include <trainhook/model/model_summary.hpp>
#include <trainhook/model/moving_averages.hpp>
#include <trainhook/model/ops.hpp>
#include <trainhook/model/optimizers.hpp>
