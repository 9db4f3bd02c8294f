// SPDX-License-Identifier: Apache-2.0
/// @file
/// read_eval_metrics: reads the scalars that evaluations wrote.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include <trainhook/core/linkage.hpp>
#include <trainhook/io/file_system.hpp>
#include <trainhook/io/posix_file_system.hpp>

namespace trainhook {

/// The scalars of each evaluated step, by tag.
using EvalHistory = std::map<std::int64_t, std::map<std::string, double, std::less<>>>;

/// Reads all scalars in the event files of a directory. If a step has a tag several times, the one written last counts.
/// What a START record drops does not count.
/// Empty if the directory does not exist. A damaged file is read up to the damage, with a warning. Source: TensorFlow's
/// `read_eval_metrics`. @throws the errors of reading files.
[[nodiscard]] TRAINHOOK_DECL EvalHistory read_eval_metrics(FileSystem& file_system, const std::string& eval_dir);
[[nodiscard]] inline EvalHistory read_eval_metrics(const std::string& eval_dir) {
  return read_eval_metrics(posix_file_system(), eval_dir);
}

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/events/impl/read_eval_metrics.ipp>
#endif
