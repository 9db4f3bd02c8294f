// SPDX-License-Identifier: Apache-2.0
/// @file
/// Graphs and the engine that runs them: EigenSession, GraphSession, kernels, and model.hpp.
#pragma once

#include <trainhook/engine/eigen_session.hpp>
#include <trainhook/engine/graph_session.hpp>
#include <trainhook/engine/kernel.hpp>
#include <trainhook/engine/kernels.hpp>
#include <trainhook/engine/profiler_hook.hpp>
#include <trainhook/model.hpp>
