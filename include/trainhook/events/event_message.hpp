// SPDX-License-Identifier: Apache-2.0
/// @file
/// The Event message: the contents of one record of an event file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

#include <trainhook/core/linkage.hpp>
#include <trainhook/events/session_log.hpp>
#include <trainhook/proto/message.hpp>

namespace trainhook::detail {

template <>
inline constexpr auto kFields<SessionLog> =
    std::tuple(field(1, "status", &SessionLog::status), field(2, "checkpoint_path", &SessionLog::checkpoint_path),
               field(3, "msg", &SessionLog::msg));

struct TaggedRunMetadataMessage {
  std::string_view tag{};
  std::string_view run_metadata{};  // a RunMetadata message
};
template <>
inline constexpr auto kFields<TaggedRunMetadataMessage> = std::tuple(
    field(1, "tag", &TaggedRunMetadataMessage::tag), field(2, "run_metadata", &TaggedRunMetadataMessage::run_metadata));

struct SourceMetadataMessage {
  std::string_view writer{};
};
template <>
inline constexpr auto kFields<SourceMetadataMessage> = std::tuple(field(1, "writer", &SourceMetadataMessage::writer));

/// Exactly one of the optional members is set, and `source_metadata` together with `file_version`.
struct EventMessage {
  double wall_time = 0;
  std::int64_t step = 0;
  std::optional<std::string_view> file_version{};
  std::optional<std::string_view> graph_def{};  // a GraphDef message
  std::optional<std::string_view> summary{};    // a Summary message
  std::optional<SessionLog> session_log{};
  std::optional<TaggedRunMetadataMessage> tagged_run_metadata{};
  std::optional<std::string_view> meta_graph_def{};  // a MetaGraphDef message
  std::optional<SourceMetadataMessage> source_metadata{};
};
template <>
inline constexpr auto kFields<EventMessage> =
    std::tuple(field(1, "wall_time", &EventMessage::wall_time), field(2, "step", &EventMessage::step),
               field(3, "file_version", &EventMessage::file_version), field(4, "graph_def", &EventMessage::graph_def),
               field(5, "summary", &EventMessage::summary), field(7, "session_log", &EventMessage::session_log),
               field(8, "tagged_run_metadata", &EventMessage::tagged_run_metadata),
               field(9, "meta_graph_def", &EventMessage::meta_graph_def),
               field(10, "source_metadata", &EventMessage::source_metadata));

/// Appends the event's bytes.
TRAINHOOK_DECL void append_event(std::string& bytes, const EventMessage& event);

/// Appends the first event of a file. `writer` names the program that wrote it; TensorBoard ignores names of more than
/// 128 characters.
TRAINHOOK_DECL void append_version_event(std::string& bytes, double wall_time, std::string_view writer);

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/events/impl/event_message.ipp>
#endif
