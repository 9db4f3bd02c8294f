// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of model/ but those of model/ops/.
#pragma once

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#error "this file belongs to separate compilation: define TRAINHOOK_SEPARATE_COMPILATION for all files of the program"
#endif

#include <trainhook/model/impl/gradients.ipp>
#include <trainhook/model/impl/initializers.ipp>
#include <trainhook/model/impl/layers.ipp>
#include <trainhook/model/impl/learning_rate_schedules.ipp>
#include <trainhook/model/impl/metrics.ipp>
#include <trainhook/model/impl/model_summary.ipp>
#include <trainhook/model/impl/moving_averages.ipp>
#include <trainhook/model/impl/optimizers.ipp>
