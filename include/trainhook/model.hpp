// SPDX-License-Identifier: Apache-2.0
/// @file
/// All of model/: ops, layers, initializers, optimizers, gradients, metrics, schedules, moving averages.
#pragma once

#include <trainhook/model/gradient_registry.hpp>
#include <trainhook/model/gradients.hpp>
#include <trainhook/model/initializers.hpp>
#include <trainhook/model/layers.hpp>
#include <trainhook/model/learning_rate_schedules.hpp>
#include <trainhook/model/metrics.hpp>
#include <trainhook/model/model_summary.hpp>
#include <trainhook/model/moving_averages.hpp>
#include <trainhook/model/ops.hpp>
#include <trainhook/model/optimizers.hpp>
