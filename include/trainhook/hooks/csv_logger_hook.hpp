// SPDX-License-Identifier: Apache-2.0
/// @file
/// CsvLoggerHook: a table of values and metrics, one row for each logged step.
#pragma once

#include <trainhook/core/linkage.hpp>
#include <trainhook/session/fetch_refs.hpp>
#include <trainhook/hooks/row_logger_hook.hpp>

namespace trainhook {

/// Writes values of the run and published metrics to a CSV file, every so many steps or seconds: a line with the names
/// of the columns, `step` first, then a row for each logged step. Numbers have the digits that read back the same,
/// `nan` and `inf` as Python reads them; text is quoted as RFC 4180 says; a cell without a value is empty; lines end in
/// `\n`.
///
/// A run that is killed and goes on has the same file as one that was not: rows after the restored step and a torn last
/// line are cut off, rows up to it are on the disk before the checkpoint of their step. A run that starts at step 0
/// therefore begins the file again. List the hook after the hooks that publish. Source: Keras' `CSVLogger`.
///
///     th::CsvLoggerHook({"loss"}, {.path = "run/log.csv", .every_n_steps = 100, .metrics = {"eval/accuracy"}})
class CsvLoggerHook final : public detail::RowLoggerHook {
 public:
  using Options = RowLoggerOptions;

  /// @param values one number, truth value or string each, or none
  /// @throws InvalidArgumentError if the path is empty, two columns have one name, there are no columns, or values are
  /// given unless exactly one positive period is.
  TRAINHOOK_DECL CsvLoggerHook(FetchRefs values, Options options);
  TRAINHOOK_DECL CsvLoggerHook(CsvLoggerHook&& other) noexcept;
  CsvLoggerHook& operator=(CsvLoggerHook&&) = delete;
  TRAINHOOK_DECL ~CsvLoggerHook() override;
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/hooks/impl/csv_logger_hook.ipp>
#endif
