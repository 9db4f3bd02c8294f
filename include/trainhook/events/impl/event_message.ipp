// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/events/event_message.hpp>

namespace trainhook::detail {

void append_event(std::string& bytes, const EventMessage& event) { append_message(bytes, event); }

void append_version_event(std::string& bytes, double wall_time, std::string_view writer) {
  EventMessage event{.wall_time = wall_time, .file_version = kEventFileVersion};
  if (!writer.empty()) event.source_metadata = SourceMetadataMessage{writer};
  append_event(bytes, event);
}

}  // namespace trainhook::detail
