// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/events/event_message.hpp>

#include <utility>

#include <trainhook/core/error.hpp>
#include <trainhook/core/utf8.hpp>

namespace trainhook::detail {

void append_summary(std::string& bytes, SummaryValueMessage value) {
  if (value.tag.empty()) throw InvalidArgumentError("a summary needs a tag: TensorBoard drops a value without one");
  std::string tag;
  if (!is_utf8(value.tag)) value.tag = tag = utf8_text(value.tag, "the tag of a summary");
  SummaryMessage summary;
  summary.value.push_back(std::move(value));
  append_message(bytes, summary);
}

std::string summary_of(SummaryValueMessage value) {
  std::string bytes;
  append_summary(bytes, std::move(value));
  return bytes;
}

void append_event(std::string& bytes, const EventMessage& event) { append_message(bytes, event); }

void append_version_event(std::string& bytes, double wall_time, std::string_view writer) {
  EventMessage event{.wall_time = wall_time, .file_version = kEventFileVersion};
  if (!writer.empty()) event.source_metadata = SourceMetadataMessage{writer};
  append_event(bytes, event);
}

}  // namespace trainhook::detail
