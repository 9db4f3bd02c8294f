// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of hparams_hook.hpp.
#pragma once

#include <trainhook/hooks/hparams_hook.hpp>

#include <algorithm>
#include <utility>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/events/file_writer.hpp>
#include <trainhook/events/file_writer_cache.hpp>
#include <trainhook/events/summary_message.hpp>
#include <trainhook/hooks/second_or_step_timer.hpp>
#include <trainhook/proto/wire.hpp>
#include <trainhook/session/coordinator.hpp>
#include <trainhook/session/hook_services.hpp>
#include <trainhook/session/run_context.hpp>

namespace trainhook::detail {

/// Fields of tensorboard/plugins/hparams/plugin_data.proto, whose version is 0.
struct HParamsField {
  static constexpr std::uint32_t kSessionStartInfo = 3;
  static constexpr std::uint32_t kSessionEndInfo = 4;
};

struct SessionStartInfoField {
  static constexpr std::uint32_t kHparams = 1;  // a map
  static constexpr std::uint32_t kGroupName = 4;
  static constexpr std::uint32_t kStartTimeSecs = 5;
};

struct SessionEndInfoField {
  static constexpr std::uint32_t kStatus = 1;
  static constexpr std::uint32_t kEndTimeSecs = 2;
  static constexpr std::int32_t kSuccess = 1;
};

/// Fields of google.protobuf.Value.
struct ValueField {
  static constexpr std::uint32_t kNumber = 2;
  static constexpr std::uint32_t kString = 3;
  static constexpr std::uint32_t kBool = 4;
};

TRAINHOOK_DECL void add_value(WireWriter& writer, const HParam& hparam) {
  if (const double* number = std::get_if<double>(&hparam.value)) {
    writer.add_double(ValueField::kNumber, *number);
  } else if (const bool* truth = std::get_if<bool>(&hparam.value)) {
    writer.add_bool(ValueField::kBool, *truth);
  } else {
    writer.add_string(ValueField::kString, std::get<std::string>(hparam.value));
  }
}

TRAINHOOK_DECL std::string session_start_info(const std::vector<HParam>& hparams, const std::string& group,
                                              double start_time_secs) {
  std::string content;
  WireWriter writer(content);
  add_wire_message(writer, HParamsField::kSessionStartInfo, [&](WireWriter& info) {
    for (const HParam& hparam : hparams) {
      add_wire_message(info, SessionStartInfoField::kHparams, [&](WireWriter& entry) {
        entry.add_string(1, hparam.name);
        add_wire_message(entry, 2, [&](WireWriter& value) { add_value(value, hparam); });
      });
    }
    if (!group.empty()) info.add_string(SessionStartInfoField::kGroupName, group);
    info.add_double(SessionStartInfoField::kStartTimeSecs, start_time_secs);
  });
  return content;
}

TRAINHOOK_DECL std::string session_end_info(double end_time_secs) {
  std::string content;
  WireWriter writer(content);
  add_wire_message(writer, HParamsField::kSessionEndInfo, [&](WireWriter& info) {
    info.add_enum(SessionEndInfoField::kStatus, SessionEndInfoField::kSuccess);
    info.add_double(SessionEndInfoField::kEndTimeSecs, end_time_secs);
  });
  return content;
}

}  // namespace trainhook::detail

namespace trainhook {

TRAINHOOK_DECL HParamsHook::HParamsHook(Options options) : options_(std::move(options)) {
  if (options_.output_dir.empty()) {
    throw InvalidArgumentError("HParamsHook: output_dir is empty; give the directory of the run's event files");
  }
  std::vector<std::string> names;
  for (const HParam& hparam : options_.hparams) names.push_back(hparam.name);
  std::ranges::sort(names);
  if (names.empty() || names.front().empty())
    throw InvalidArgumentError("HParamsHook: {}", names.empty() ? "there are no hyperparameters" : "one has no name");
  if (const auto twice = std::ranges::adjacent_find(names); twice != names.end())
    throw InvalidArgumentError("HParamsHook: two hyperparameters are called '{}'", *twice);
}

TRAINHOOK_DECL HParamsHook::HParamsHook(HParamsHook&& other) noexcept = default;

TRAINHOOK_DECL HParamsHook::~HParamsHook() = default;

TRAINHOOK_DECL void HParamsHook::begin(Graph& graph) {
  global_step_ = detail::require_global_step(graph, "HParamsHook");
  written_ = false;
}

TRAINHOOK_DECL void HParamsHook::after_create_session(SessionRef session, Coordinator& /*coordinator*/) {
  if (std::exchange(written_, true)) return;
  write("_hparams_/session_start_info",
        detail::session_start_info(options_.hparams, options_.group, services().clock().wall_seconds()),
        read_global_step(session, global_step_));
}

TRAINHOOK_DECL void HParamsHook::end(SessionRef session) {
  write("_hparams_/session_end_info", detail::session_end_info(services().clock().wall_seconds()),
        read_global_step(session, global_step_));
}

TRAINHOOK_DECL void HParamsHook::write(std::string_view tag, std::string_view content, std::int64_t step) const {
  const std::int64_t dims[] = {0};  // what counts is in the metadata
  services()
      .writers()
      .at(options_.output_dir)
      .add_summary(
          detail::summary_of({.tag = tag,
                              .tensor = detail::SummaryTensorMessage{.dtype = static_cast<std::uint64_t>(DType::Float),
                                                                     .tensor_shape = detail::shape_message(dims)},
                              .metadata = detail::SummaryMetadataMessage{.plugin_data = {.plugin_name = "hparams",
                                                                                         .content = content}}}),
          step);
}

}  // namespace trainhook
