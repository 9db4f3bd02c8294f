// SPDX-License-Identifier: Apache-2.0
/// @file
/// Hooks that log, print, write rows and summaries, or take part in a step.
#pragma once

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#error "this file belongs to separate compilation: define TRAINHOOK_SEPARATE_COMPILATION for all files of the program"
#endif

#include <trainhook/hooks/impl/csv_logger_hook.ipp>
#include <trainhook/hooks/impl/exponential_moving_average_hook.ipp>
#include <trainhook/hooks/impl/feed_fn_hook.ipp>
#include <trainhook/hooks/impl/final_ops_hook.ipp>
#include <trainhook/hooks/impl/hparams_hook.ipp>
#include <trainhook/hooks/impl/json_lines_hook.ipp>
#include <trainhook/hooks/impl/lambda_hook.ipp>
#include <trainhook/hooks/impl/logging_tensor_hook.ipp>
#include <trainhook/hooks/impl/profiler_hook.ipp>
#include <trainhook/hooks/impl/progress_hook.ipp>
#include <trainhook/hooks/impl/row_logger_hook.ipp>
#include <trainhook/hooks/impl/step_counter_hook.ipp>
#include <trainhook/hooks/impl/summary_saver_hook.ipp>
#include <trainhook/hooks/text/impl/numpy_number.ipp>
#include <trainhook/hooks/text/impl/numpy_text.ipp>
#include <trainhook/hooks/text/impl/progress_line.ipp>
#include <trainhook/hooks/text/impl/row_file.ipp>
#include <trainhook/hooks/text/impl/tensor_text.ipp>
#include <trainhook/hooks/text/impl/timeline.ipp>
