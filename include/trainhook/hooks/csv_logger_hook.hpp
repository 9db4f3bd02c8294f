// SPDX-License-Identifier: Apache-2.0
/// @file
/// CsvLoggerHook: writes values and metrics to a CSV file, one row per logged step.
#pragma once

#include <trainhook/core/linkage.hpp>
#include <trainhook/hooks/row_logger_hook.hpp>
#include <trainhook/session/fetch_refs.hpp>

namespace trainhook {

/// Writes values of the run and published metrics to a CSV file, every N steps or T seconds: a line with the names of
/// the columns, `step` first, then a row per logged step. Numbers have the fewest digits that read back the same; text
/// is UTF-8, quoted according to RFC 4180; a cell without a value is empty.
///
/// A run that is killed and resumed writes the same file as an uninterrupted one: rows after the restored step are cut
/// off at the first run, and rows are on disk before the checkpoint of their step. List the hook after those that
/// publish. Source: Keras' `CSVLogger`.
///
///     th::CsvLoggerHook({"loss"}, {.path = "run/log.csv", .every_n_steps = 100, .metrics = {"eval/accuracy"}})
class CsvLoggerHook final : public detail::RowLoggerHook {
 public:
  using Options = RowLoggerOptions;

  /// A run that starts at step 0 starts the file again; if its rows may be another run's, `log.csv.1` or the next free
  /// number keeps a copy. A file that is not what the resumed run wrote is an error and stays as it is, and so is a
  /// second hook or run that writes to it. A link is followed; a pipe or a device is appended to.
  /// @param values scalar numbers, bools or strings; may be empty
  /// @throws InvalidArgumentError if the path is empty, two columns have the same name, the name of one is not UTF-8,
  /// there are no columns, or there are values without exactly one positive period.
  TRAINHOOK_DECL CsvLoggerHook(FetchRefs values, Options options);
  TRAINHOOK_DECL CsvLoggerHook(CsvLoggerHook&& other) noexcept;
  CsvLoggerHook& operator=(CsvLoggerHook&&) = delete;
  TRAINHOOK_DECL ~CsvLoggerHook() override;
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/hooks/impl/csv_logger_hook.ipp>
#endif
