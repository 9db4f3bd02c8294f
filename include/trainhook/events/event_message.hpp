// SPDX-License-Identifier: Apache-2.0
/// @file
/// The Event message, the contents of one record of an event file, and the Summary message and those inside it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

#include <trainhook/core/inline_vector.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/events/histogram.hpp>
#include <trainhook/events/session_log.hpp>
#include <trainhook/proto/message.hpp>
#include <trainhook/proto/shared_messages.hpp>

namespace trainhook::detail {

template <>
inline constexpr auto kFields<Histogram> =
    std::tuple(field(1, "min", &Histogram::min), field(2, "max", &Histogram::max), field(3, "num", &Histogram::num),
               field(4, "sum", &Histogram::sum), field(5, "sum_squares", &Histogram::sum_squares),
               field(6, "bucket_limit", &Histogram::bucket_limit), field(7, "bucket", &Histogram::bucket));

struct SummaryImageMessage {
  std::int32_t height = 0;
  std::int32_t width = 0;
  std::int32_t colorspace = 0;  // the number of channels
  std::string_view encoded_image_string{};
};
template <>
inline constexpr auto kFields<SummaryImageMessage> =
    std::tuple(field(1, "height", &SummaryImageMessage::height), field(2, "width", &SummaryImageMessage::width),
               field(3, "colorspace", &SummaryImageMessage::colorspace),
               field(4, "encoded_image_string", &SummaryImageMessage::encoded_image_string));

struct SummaryAudioMessage {
  float sample_rate = 0;  // frames per second
  std::int64_t num_channels = 0;
  std::int64_t length_frames = 0;
  std::string_view encoded_audio_string{};
  std::string_view content_type{};
};
template <>
inline constexpr auto kFields<SummaryAudioMessage> =
    std::tuple(field(1, "sample_rate", &SummaryAudioMessage::sample_rate),
               field(2, "num_channels", &SummaryAudioMessage::num_channels),
               field(3, "length_frames", &SummaryAudioMessage::length_frames),
               field(4, "encoded_audio_string", &SummaryAudioMessage::encoded_audio_string),
               field(5, "content_type", &SummaryAudioMessage::content_type));

struct PluginDataMessage {
  std::string_view plugin_name{};
  std::string_view content{};  // in the dashboard's format
};
template <>
inline constexpr auto kFields<PluginDataMessage> = std::tuple(field(1, "plugin_name", &PluginDataMessage::plugin_name),
                                                              field(2, "content", &PluginDataMessage::content));

/// Names the dashboard that shows a tensor. If the first value of a tag lacks it, TensorBoard never shows the tag.
struct SummaryMetadataMessage {
  PluginDataMessage plugin_data{};
};
template <>
inline constexpr auto kFields<SummaryMetadataMessage> =
    std::tuple(field(1, "plugin_data", &SummaryMetadataMessage::plugin_data));

/// One of `simple_value`, `image`, `histo`, `audio` and `tensor`.
struct SummaryValueMessage {
  std::string_view tag{};
  std::optional<float> simple_value{};
  std::optional<SummaryImageMessage> image{};
  std::optional<Histogram> histo{};
  std::optional<SummaryAudioMessage> audio{};
  std::string_view node_name{};  // the tag in very old files
  std::optional<TensorMessage> tensor{};
  std::optional<SummaryMetadataMessage> metadata{};
};
template <>
inline constexpr auto kFields<SummaryValueMessage> =
    std::tuple(field(1, "tag", &SummaryValueMessage::tag), field(2, "simple_value", &SummaryValueMessage::simple_value),
               field(4, "image", &SummaryValueMessage::image), field(5, "histo", &SummaryValueMessage::histo),
               field(6, "audio", &SummaryValueMessage::audio), field(7, "node_name", &SummaryValueMessage::node_name),
               field(8, "tensor", &SummaryValueMessage::tensor), field(9, "metadata", &SummaryValueMessage::metadata));

struct SummaryMessage {
  InlineVector<SummaryValueMessage, 1> value{};
};
template <>
inline constexpr auto kFields<SummaryMessage> = std::tuple(field(1, "value", &SummaryMessage::value));

/// Appends a Summary of one value; its tag is written as UTF-8. @throws InvalidArgumentError for an empty tag.
TRAINHOOK_DECL void append_summary(std::string& bytes, SummaryValueMessage value);

/// The same as a new string.
[[nodiscard]] TRAINHOOK_DECL std::string summary_of(SummaryValueMessage value);

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
