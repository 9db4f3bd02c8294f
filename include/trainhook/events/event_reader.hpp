// SPDX-License-Identifier: Apache-2.0
/// @file
/// Reads Summary messages, event files up to the first damaged record, reporting what it dropped, and the scalars that
/// evaluations wrote (read_eval_metrics).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/events/histogram.hpp>
#include <trainhook/events/session_log.hpp>
#include <trainhook/io/file_system.hpp>
#include <trainhook/io/posix_file_system.hpp>

namespace trainhook {

/// An image, still encoded as in the file.
struct SummaryImage {
  std::int32_t height{};
  std::int32_t width{};
  std::int32_t channels{};  ///< 0 if unknown, as in files of TensorFlow 2
  std::string bytes{};

  friend bool operator==(const SummaryImage&, const SummaryImage&) = default;
};

/// One value of a summary, in TensorFlow 1's encoding or TensorFlow 2's, which uses tensors. The member that is set
/// tells its kind; for other kinds (audio, other tensors) none is set.
struct SummaryValue {
  std::string tag{};
  /// The dashboard that the metadata names, if any; `audio` also for a value of TensorFlow 1's.
  std::string plugin{};
  std::optional<float> scalar{};  ///< `simple_value`, or a tensor of one float or double
  /// From `histo`, or from a double tensor [buckets, 3], whose sums are unknown: NaN.
  std::optional<Histogram> histogram{};
  std::vector<SummaryImage> images{};  ///< from `image`, or a string tensor of the plugin `images`
  std::optional<std::string> text{};   ///< the first string of any other string tensor except audio

  friend bool operator==(const SummaryValue&, const SummaryValue&) = default;
};

/// The values of a serialized Summary. `what` names it in errors. @throws DataLossError if the bytes are not a Summary.
[[nodiscard]] TRAINHOOK_DECL std::vector<SummaryValue> parse_summary(std::string_view bytes,
                                                                     std::string_view what = "summary");

struct TaggedRunMetadata {
  std::string tag{};
  std::string run_metadata{};  ///< a serialized RunMetadata
};

/// One event. Members other than time and step are empty if the event does not have them.
struct Event {
  double wall_time{};
  std::int64_t step{};
  std::string file_version{};
  std::string source_writer{};
  std::string graph_def{};
  std::string meta_graph_def{};
  std::vector<SummaryValue> values{};
  std::optional<SessionLog> session_log{};
  std::optional<TaggedRunMetadata> run_metadata{};
};

/// Decodes one event. `what` names the file in errors. @throws DataLossError if the bytes are not an Event.
[[nodiscard]] TRAINHOOK_DECL Event parse_event(std::string_view bytes, std::string_view what = "event");

/// What `read_events` returns.
struct EventFileContents {
  std::vector<Event> events{};
  std::uint64_t dropped_bytes = 0;      ///< from the first damaged or incomplete record to the end of the file
  std::vector<std::string> problems{};  ///< the reasons, one sentence each; empty for an intact file
};

/// Reads all events up to the first torn or damaged record; records after it cannot be found. An intact record that is
/// not an event is skipped. Damage is reported in the result, not thrown. @throws NotFoundError and other errors of
/// opening and reading.
[[nodiscard]] TRAINHOOK_DECL EventFileContents read_events(FileSystem& file_system, const std::string& path);

/// The paths of the event files in a directory, sorted by name, which is the order of creation; none if the directory
/// does not exist.
[[nodiscard]] TRAINHOOK_DECL std::vector<std::string> list_event_files(FileSystem& file_system,
                                                                       const std::string& directory);

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
#include <trainhook/events/impl/event_reader.ipp>
#endif
