// SPDX-License-Identifier: Apache-2.0
/// @file
/// All bodies of estimator/, for the one file of a program that compiles them itself.
#pragma once

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#error "this file belongs to separate compilation: define TRAINHOOK_SEPARATE_COMPILATION for all files of the program"
#endif

#include <trainhook/estimator/impl/early_stopping.ipp>
#include <trainhook/estimator/impl/estimator.ipp>
#include <trainhook/estimator/impl/evaluate_once.ipp>
#include <trainhook/estimator/impl/evaluation_graph.ipp>
#include <trainhook/estimator/impl/in_memory_evaluator_hook.ipp>
#include <trainhook/estimator/impl/model_fn.ipp>
#include <trainhook/estimator/impl/train_and_evaluate.ipp>
