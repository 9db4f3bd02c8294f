// SPDX-License-Identifier: Apache-2.0
/// @file
/// JsonLinesHook: writes values and metrics as lines of JSON, one per logged step.
#pragma once

#include <trainhook/core/linkage.hpp>
#include <trainhook/hooks/row_logger_hook.hpp>
#include <trainhook/session/fetch_refs.hpp>

namespace trainhook {

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
  using Options = RowLoggerOptions;

  /// @param values scalar numbers, bools or strings; may be empty
  /// @throws InvalidArgumentError as CsvLoggerHook.
  TRAINHOOK_DECL JsonLinesHook(FetchRefs values, Options options);
  TRAINHOOK_DECL JsonLinesHook(JsonLinesHook&& other) noexcept;
  JsonLinesHook& operator=(JsonLinesHook&&) = delete;
  TRAINHOOK_DECL ~JsonLinesHook() override;
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/hooks/impl/json_lines_hook.ipp>
#endif
