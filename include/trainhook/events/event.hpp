// SPDX-License-Identifier: Apache-2.0
/// @file
/// Event messages as bytes: what one record of an event file holds.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <trainhook/core/linkage.hpp>
#include <trainhook/proto/wire.hpp>

namespace trainhook {

/// The start of a training, its end, or a checkpoint that was written. TensorBoard reads a START, other than the first
/// of a run, as "what is there at this step and later is an orphan of a crash": after restoring step R a new file
/// begins with a START at step R + 1.
struct SessionLog {
  /// Numbers stand in files: never renumber.
  enum class Status : std::int32_t { Unspecified = 0, Start = 1, Stop = 2, Checkpoint = 3 };
  using enum Status;

  Status status = Status::Unspecified;
  std::string checkpoint_path{};  ///< as it was given to the saver: without `-<step>`
  std::string msg{};

  friend bool operator==(const SessionLog&, const SessionLog&) = default;
};

/// The version that every event file declares in its first event. From 2 on, TensorBoard purges by SessionLog.
inline constexpr std::string_view kEventFileVersion = "brain.Event:2";

namespace detail {

// Field numbers of TensorFlow's messages; they stand in files: never renumber.
struct EventField {
  static constexpr std::uint32_t kWallTime = 1;
  static constexpr std::uint32_t kStep = 2;
  static constexpr std::uint32_t kFileVersion = 3;
  static constexpr std::uint32_t kGraphDef = 4;
  static constexpr std::uint32_t kSummary = 5;
  static constexpr std::uint32_t kSessionLog = 7;
  static constexpr std::uint32_t kTaggedRunMetadata = 8;
  static constexpr std::uint32_t kMetaGraphDef = 9;
  static constexpr std::uint32_t kSourceMetadata = 10;
};
struct SessionLogField {
  static constexpr std::uint32_t kStatus = 1;
  static constexpr std::uint32_t kCheckpointPath = 2;
  static constexpr std::uint32_t kMsg = 3;
};
struct TaggedRunMetadataField {
  static constexpr std::uint32_t kTag = 1;
  static constexpr std::uint32_t kRunMetadata = 2;
};
struct SourceMetadataField {
  static constexpr std::uint32_t kWriter = 1;
};

/// Appends one event to `bytes`: time, step, and the bytes-like field that `write` or `payload` gives.
template <class Write>
void append_event(std::string& bytes, double wall_time, std::int64_t step, const Write& write) {
  WireWriter event(bytes);
  event.add_double(EventField::kWallTime, wall_time);
  if (step != 0) event.add_int64(EventField::kStep, step);
  write(event);
}

}  // namespace detail

/// The first event of a file. `writer` says who wrote it; TensorBoard ignores names of more than 128 characters.
TRAINHOOK_DECL void append_version_event(std::string& bytes, double wall_time, std::string_view writer);

/// `summary` is a serialized Summary.
TRAINHOOK_DECL void append_summary_event(std::string& bytes, double wall_time, std::int64_t step,
                                         std::string_view summary);

/// `graph_def` is a serialized GraphDef: the Graphs dashboard shows the newest one of a run.
TRAINHOOK_DECL void append_graph_event(std::string& bytes, double wall_time, std::int64_t step,
                                       std::string_view graph_def);

/// `meta_graph_def` is a serialized MetaGraphDef. No dashboard shows it: write a graph event too.
TRAINHOOK_DECL void append_meta_graph_event(std::string& bytes, double wall_time, std::int64_t step,
                                            std::string_view meta_graph_def);

TRAINHOOK_DECL void append_session_log_event(std::string& bytes, double wall_time, std::int64_t step,
                                             const SessionLog& log);

/// `run_metadata` is a serialized RunMetadata, shown over the graph under the name `tag`.
TRAINHOOK_DECL void append_run_metadata_event(std::string& bytes, double wall_time, std::int64_t step,
                                              std::string_view tag, std::string_view run_metadata);

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/events/impl/event.ipp>
#endif
