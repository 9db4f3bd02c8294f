// SPDX-License-Identifier: Apache-2.0
/// @file
/// The protobuf messages in the collections of a MetaGraphDef: variables and queue runners.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <trainhook/proto/message.hpp>

namespace trainhook::detail {

/// SaveSliceInfoDef.
struct SaveSliceInfoMessage {
  std::string full_name{};
  std::vector<std::int64_t> full_shape{};
  std::vector<std::int64_t> var_offset{};
  std::vector<std::int64_t> var_shape{};
};
template <>
inline constexpr auto kFields<SaveSliceInfoMessage> = std::tuple(
    field(1, "full_name", &SaveSliceInfoMessage::full_name), field(2, "full_shape", &SaveSliceInfoMessage::full_shape),
    field(3, "var_offset", &SaveSliceInfoMessage::var_offset), field(4, "var_shape", &SaveSliceInfoMessage::var_shape));

/// VariableDef.
struct VariableMessage {
  std::string variable_name{};
  std::string initializer_name{};
  std::string snapshot_name{};
  std::optional<SaveSliceInfoMessage> save_slice_info_def{};
  std::string initial_value_name{};
  bool trainable = false;
};
template <>
inline constexpr auto kFields<VariableMessage> =
    std::tuple(field(1, "variable_name", &VariableMessage::variable_name),
               field(2, "initializer_name", &VariableMessage::initializer_name),
               field(3, "snapshot_name", &VariableMessage::snapshot_name),
               field(4, "save_slice_info_def", &VariableMessage::save_slice_info_def),
               field(6, "initial_value_name", &VariableMessage::initial_value_name),
               field(7, "trainable", &VariableMessage::trainable));

/// QueueRunnerDef, without `queue_closed_exception_types`: here that is the end of input.
struct QueueRunnerMessage {
  std::string queue_name{};
  std::vector<std::string> enqueue_op_name{};
  std::string close_op_name{};
  std::string cancel_op_name{};
};
template <>
inline constexpr auto kFields<QueueRunnerMessage> =
    std::tuple(field(1, "queue_name", &QueueRunnerMessage::queue_name),
               field(2, "enqueue_op_name", &QueueRunnerMessage::enqueue_op_name),
               field(3, "close_op_name", &QueueRunnerMessage::close_op_name),
               field(4, "cancel_op_name", &QueueRunnerMessage::cancel_op_name));

}  // namespace trainhook::detail
