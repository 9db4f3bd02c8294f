// SPDX-License-Identifier: Apache-2.0
/// @file
/// CsvLoggerHook and JsonLinesHook: write values and metrics to a file, one row per logged step.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <trainhook/core/duration.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/session/fetch_refs.hpp>
#include <trainhook/session/second_or_step_timer.hpp>
#include <trainhook/session/session_run_hook.hpp>

namespace trainhook {

struct RowLoggerOptions {
  std::string path{};                           ///< of the file; its directory is created
  std::optional<std::int64_t> every_n_steps{};  ///< at multiples of this, wherever the run started
  OptionalDuration every_n_secs{};
  std::vector<std::string> metrics{};  ///< published ones, such as `eval/loss`, which have a column each; a step for
                                       ///< which one is published has a row, whatever the period
  std::string name{};                  ///< of the hook's state in checkpoints; empty: from the name of the file
};

namespace detail {

class RowFile;
struct RowFormat;
struct WrittenRows;

/// Writes one row per logged step. The newest row stays in memory until the next run starts or the session ends,
/// because metrics of its step may still be published. It is part of the hook's state; earlier rows are on disk
/// whenever the model is saved, and their checksum is in the state.
class RowLoggerHook : public SessionRunHook {
 public:
  using Options = RowLoggerOptions;

  TRAINHOOK_DECL ~RowLoggerHook() override;

  [[nodiscard]] std::string writes_to() const override { return options_.path; }
  TRAINHOOK_DECL void begin(Graph& graph) override;
  TRAINHOOK_DECL void after_create_session(SessionRef session, Coordinator& coordinator) override;
  TRAINHOOK_DECL SessionRunArgs before_run(SessionRunContext& context) override;
  TRAINHOOK_DECL void after_run(SessionRunContext& context, const SessionRunValues& values) override;
  TRAINHOOK_DECL void end(SessionRef session) override;
  TRAINHOOK_DECL void abort(const std::exception_ptr& error) noexcept override;
  [[nodiscard]] TRAINHOOK_DECL std::string name() const override;
  [[nodiscard]] TRAINHOOK_DECL StateValues save_state() override;
  TRAINHOOK_DECL void load_state(const StateValues& state) override;

 protected:
  TRAINHOOK_DECL RowLoggerHook(const RowFormat& format, FetchRefs values, RowLoggerOptions options);
  TRAINHOOK_DECL RowLoggerHook(RowLoggerHook&& other) noexcept;

 private:
  struct Row {
    std::int64_t step = 0;
    std::vector<std::string> cells{};
  };

  // Cuts rows off the file: call it when the session makes a step or ends, because one that is lost before repeats
  // none.
  TRAINHOOK_DECL void open_file();
  TRAINHOOK_DECL Row& row_of(std::int64_t step);
  TRAINHOOK_DECL void take_metrics();
  TRAINHOOK_DECL void write_row();
  TRAINHOOK_DECL void remember(const std::optional<WrittenRows>& written);

  const RowFormat* format_;
  FetchRefs refs_;
  RowLoggerOptions options_;
  std::vector<std::string> columns_;        // values, then metrics, without the step
  std::optional<SecondOrStepTimer> timer_;  // none: metrics only
  Variable global_step_;
  FetchList fetches_;
  std::unique_ptr<RowFile> file_;                  // null until it is opened
  std::optional<Row> row_;                         // the row that is not written yet
  std::unique_ptr<WrittenRows> known_;             // of the file: as restored, last saved, or at the end; null: nothing
  std::vector<std::optional<std::int64_t>> seen_;  // the step of the last value of each metric
  std::int64_t step_ = 0;                          // after the last run
  bool fetched_ = false;
  bool restored_ = false;
};

}  // namespace detail

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
  /// A run that starts at step 0 starts the file again; if its rows may be another run's, `log.csv.1` or the next free
  /// number keeps a copy. A file that is not what the resumed run wrote is an error and stays as it is, and so is a
  /// second hook or run that writes to it. A link is followed; a pipe or a device is appended to.
  /// @param values scalar numbers, bools or strings; may be empty
  /// @throws InvalidArgumentError if the path is empty, two columns have the same name, the name of one is not UTF-8,
  /// there are no columns, or there are values without exactly one positive period.
  TRAINHOOK_DECL CsvLoggerHook(FetchRefs values, Options options);
  CsvLoggerHook(CsvLoggerHook&& other) noexcept = default;
  TRAINHOOK_DECL ~CsvLoggerHook() override;
};

/// Writes values of the run and published metrics to a file, every N steps or T seconds, as one JSON object per line:
/// `{"step":100,"loss":0.25,"eval/accuracy":0.9}`. Numbers have the shortest digits that read back the same; NaN and
/// infinity, which JSON lacks, are the strings `"NaN"`, `"Infinity"` and `"-Infinity"`, as in protobuf's JSON; a key
/// without a value at a step is left out. Bytes of strings that are not UTF-8 are replaced by U+FFFD, with a
/// warning.
///
/// A run that is killed and resumed writes the same file as an uninterrupted one, as with CsvLoggerHook.
///
///     th::JsonLinesHook({"loss"}, {.path = "run/log.jsonl", .every_n_steps = 100, .metrics = {"eval/accuracy"}})
class JsonLinesHook final : public detail::RowLoggerHook {
 public:
  /// @param values scalar numbers, bools or strings; may be empty
  /// @throws InvalidArgumentError as CsvLoggerHook.
  TRAINHOOK_DECL JsonLinesHook(FetchRefs values, Options options);
  JsonLinesHook(JsonLinesHook&& other) noexcept = default;
  TRAINHOOK_DECL ~JsonLinesHook() override;
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/hooks/impl/row_logger_hook.ipp>
#endif
