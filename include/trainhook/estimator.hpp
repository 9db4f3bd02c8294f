// SPDX-License-Identifier: Apache-2.0
/// @file
/// All of estimator/: Estimator, train_and_evaluate, early stopping, InMemoryEvaluatorHook, and model.hpp.
#pragma once

#include <trainhook/estimator/early_stopping.hpp>
#include <trainhook/estimator/estimator.hpp>
#include <trainhook/estimator/in_memory_evaluator_hook.hpp>
#include <trainhook/estimator/train_and_evaluate.hpp>
#include <trainhook/model.hpp>
