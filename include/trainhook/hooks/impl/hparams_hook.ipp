// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/hooks/hparams_hook.hpp>

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include <trainhook/core/clock.hpp>
#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/utf8.hpp>
#include <trainhook/events/event_message.hpp>
#include <trainhook/events/file_writer.hpp>
#include <trainhook/events/file_writer_cache.hpp>
#include <trainhook/graph/global_step.hpp>
#include <trainhook/proto/message.hpp>
#include <trainhook/session/hook_services.hpp>
#include <trainhook/session/run_context.hpp>

namespace trainhook::detail {

/// google.protobuf.Value, a oneof.
struct HParamValueMessage {
  std::optional<double> number_value{};
  std::optional<std::string_view> string_value{};
  std::optional<bool> bool_value{};
};
template <>
inline constexpr auto kFields<HParamValueMessage> =
    std::tuple(field(2, "number_value", &HParamValueMessage::number_value),
               field(3, "string_value", &HParamValueMessage::string_value),
               field(4, "bool_value", &HParamValueMessage::bool_value));

struct HParamEntryMessage {
  std::string_view key{};
  HParamValueMessage value{};
};
template <>
inline constexpr auto kFields<HParamEntryMessage> =
    std::tuple(field(1, "key", &HParamEntryMessage::key), field(2, "value", &HParamEntryMessage::value));

struct SessionStartInfoMessage {
  std::vector<HParamEntryMessage> hparams{};
  std::string_view group_name{};
  std::optional<double> start_time_secs{};
};
template <>
inline constexpr auto kFields<SessionStartInfoMessage> =
    std::tuple(field(1, "hparams", &SessionStartInfoMessage::hparams),
               field(4, "group_name", &SessionStartInfoMessage::group_name),
               field(5, "start_time_secs", &SessionStartInfoMessage::start_time_secs));

struct SessionEndInfoMessage {
  enum class Status { Unknown, Success };
  Status status = Status::Success;
  std::optional<double> end_time_secs{};
};
template <>
inline constexpr auto kFields<SessionEndInfoMessage> =
    std::tuple(field(1, "status", &SessionEndInfoMessage::status),
               field(2, "end_time_secs", &SessionEndInfoMessage::end_time_secs));

/// HParamsPluginData of tensorboard/plugins/hparams/plugin_data.proto, whose version is 0.
struct HParamsPluginDataMessage {
  std::optional<SessionStartInfoMessage> session_start_info{};
  std::optional<SessionEndInfoMessage> session_end_info{};
};
template <>
inline constexpr auto kFields<HParamsPluginDataMessage> =
    std::tuple(field(3, "session_start_info", &HParamsPluginDataMessage::session_start_info),
               field(4, "session_end_info", &HParamsPluginDataMessage::session_end_info));

inline HParamValueMessage value_message(const HParam& hparam) {
  HParamValueMessage message;
  if (const double* number = std::get_if<double>(&hparam.value)) {
    message.number_value = *number;
  } else if (const bool* truth = std::get_if<bool>(&hparam.value)) {
    message.bool_value = *truth;
  } else {
    message.string_value = std::get<std::string>(hparam.value);
  }
  return message;
}

inline std::string session_start_info(const std::vector<HParam>& hparams, const std::string& group,
                                      double start_time_secs) {
  SessionStartInfoMessage info{.group_name = group, .start_time_secs = start_time_secs};
  for (const HParam& hparam : hparams) info.hparams.push_back({hparam.name, value_message(hparam)});
  return message_bytes(HParamsPluginDataMessage{.session_start_info = std::move(info)});
}

inline std::string session_end_info(double end_time_secs) {
  return message_bytes(
      HParamsPluginDataMessage{.session_end_info = SessionEndInfoMessage{.end_time_secs = end_time_secs}});
}

}  // namespace trainhook::detail

namespace trainhook {

HParamsHook::HParamsHook(Options options) : options_(std::move(options)) {
  if (options_.output_dir.empty()) {
    throw InvalidArgumentError("HParamsHook: output_dir is empty; give the directory of the run's event files");
  }
  detail::expect_utf8(options_.group, "HParamsHook: group");
  std::vector<std::string> names;
  for (const HParam& hparam : options_.hparams) {
    detail::expect_utf8(hparam.name, "HParamsHook: the name");
    if (const std::string* text = std::get_if<std::string>(&hparam.value))
      detail::expect_utf8(*text, fmt::format("HParamsHook: the value of '{}',", hparam.name));
    names.push_back(hparam.name);
  }
  std::ranges::sort(names);
  if (names.empty() || names.front().empty())
    throw InvalidArgumentError("HParamsHook: {}", names.empty() ? "there are no hyperparameters" : "one has no name");
  if (const auto twice = std::ranges::adjacent_find(names); twice != names.end())
    throw InvalidArgumentError("HParamsHook: two hyperparameters are called '{}'", *twice);
}

HParamsHook::HParamsHook(HParamsHook&& other) noexcept = default;
HParamsHook::~HParamsHook() = default;

void HParamsHook::begin(Graph& graph) {
  global_step_ = detail::require_global_step(graph, "HParamsHook");
  written_ = false;
}

void HParamsHook::after_create_session(SessionRef session, Coordinator& /*coordinator*/) {
  if (std::exchange(written_, true)) return;
  write("_hparams_/session_start_info",
        detail::session_start_info(options_.hparams, options_.group, services().clock().wall_seconds()),
        read_global_step(session, global_step_));
}

void HParamsHook::end(SessionRef session) {
  write("_hparams_/session_end_info", detail::session_end_info(services().clock().wall_seconds()),
        read_global_step(session, global_step_));
}

void HParamsHook::write(std::string_view tag, std::string_view content, std::int64_t step) const {
  const std::int64_t dims[] = {0};  // what counts is in the metadata
  services()
      .writers()
      .at(options_.output_dir)
      .add_summary(
          detail::summary_of({.tag = tag,
                              .tensor = detail::TensorMessage{.dtype = static_cast<std::uint64_t>(DType::Float),
                                                              .tensor_shape = detail::shape_message(dims)},
                              .metadata = detail::SummaryMetadataMessage{.plugin_data = {.plugin_name = "hparams",
                                                                                         .content = content}}}),
          step);
}

}  // namespace trainhook
