// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of event.hpp.
#pragma once

#include <trainhook/events/event.hpp>

namespace trainhook::detail {

TRAINHOOK_DECL void append_bytes_event(std::string& bytes, double wall_time, std::int64_t step, std::uint32_t field,
                                       std::string_view payload) {
  append_event(bytes, wall_time, step,
               [&](WireWriter& event) { event.add_bytes(field, payload.data(), payload.size()); });
}

TRAINHOOK_DECL void add_nonempty(WireWriter& message, std::uint32_t field, std::string_view text) {
  if (!text.empty()) message.add_bytes(field, text.data(), text.size());
}

}  // namespace trainhook::detail

namespace trainhook {

TRAINHOOK_DECL void append_version_event(std::string& bytes, double wall_time, std::string_view writer) {
  detail::append_event(bytes, wall_time, 0, [&](WireWriter& event) {
    event.add_string(detail::EventField::kFileVersion, kEventFileVersion.data(), kEventFileVersion.size());
    if (writer.empty()) return;
    WireWriter source(event, detail::EventField::kSourceMetadata);
    source.add_string(detail::SourceMetadataField::kWriter, writer.data(), writer.size());
  });
}

TRAINHOOK_DECL void append_summary_event(std::string& bytes, double wall_time, std::int64_t step,
                                         std::string_view summary) {
  detail::append_bytes_event(bytes, wall_time, step, detail::EventField::kSummary, summary);
}

TRAINHOOK_DECL void append_graph_event(std::string& bytes, double wall_time, std::int64_t step,
                                       std::string_view graph_def) {
  detail::append_bytes_event(bytes, wall_time, step, detail::EventField::kGraphDef, graph_def);
}

TRAINHOOK_DECL void append_meta_graph_event(std::string& bytes, double wall_time, std::int64_t step,
                                            std::string_view meta_graph_def) {
  detail::append_bytes_event(bytes, wall_time, step, detail::EventField::kMetaGraphDef, meta_graph_def);
}

TRAINHOOK_DECL void append_session_log_event(std::string& bytes, double wall_time, std::int64_t step,
                                             const SessionLog& log) {
  detail::append_event(bytes, wall_time, step, [&](WireWriter& event) {
    add_wire_message(event, detail::EventField::kSessionLog, [&log](WireWriter& message) {
      if (log.status != SessionLog::Unspecified)
        message.add_enum(detail::SessionLogField::kStatus, static_cast<std::int32_t>(log.status));
      detail::add_nonempty(message, detail::SessionLogField::kCheckpointPath, log.checkpoint_path);
      detail::add_nonempty(message, detail::SessionLogField::kMsg, log.msg);
    });
  });
}

TRAINHOOK_DECL void append_run_metadata_event(std::string& bytes, double wall_time, std::int64_t step,
                                              std::string_view tag, std::string_view run_metadata) {
  detail::append_event(bytes, wall_time, step, [&](WireWriter& event) {
    add_wire_message(event, detail::EventField::kTaggedRunMetadata, [=](WireWriter& message) {
      detail::add_nonempty(message, detail::TaggedRunMetadataField::kTag, tag);
      detail::add_nonempty(message, detail::TaggedRunMetadataField::kRunMetadata, run_metadata);
    });
  });
}

}  // namespace trainhook
