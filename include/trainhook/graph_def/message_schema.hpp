// SPDX-License-Identifier: Apache-2.0
/// @file
/// Descriptions of messages that convert text to bytes and bytes to text, so that one reader and one writer serve both
/// forms.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <trainhook/core/linkage.hpp>

namespace trainhook::detail {

enum class FieldKind { Bytes, Integer, Unsigned, Boolean, Float, Double, DataType, CheckpointVersion, Message };

/// A field of a message: its name in text, its number in bytes, and the type of its value.
struct FieldSchema {
  std::string_view name{};
  std::uint32_t number = 0;
  FieldKind kind = FieldKind::Message;
  const FieldSchema* fields = nullptr;  ///< of a nested message
  std::size_t num_fields = 0;
};

template <std::size_t N>
[[nodiscard]] constexpr FieldSchema nested(std::string_view name, std::uint32_t number,
                                           const FieldSchema (&fields)[N]) {
  return {name, number, FieldKind::Message, fields, N};
}

/// A nested message that is skipped.
[[nodiscard]] constexpr FieldSchema unread(std::string_view name, std::uint32_t number) {
  return {name, number, FieldKind::Message};
}

/// A dtype of TensorFlow that this library lacks.
struct OtherDType {
  std::string_view name{};
  std::uint64_t number = 0;
};

inline constexpr std::array kOtherDTypes{
    OtherDType{"DT_QINT8", 11},   OtherDType{"DT_QUINT8", 12},      OtherDType{"DT_QINT32", 13},
    OtherDType{"DT_QINT16", 15},  OtherDType{"DT_QUINT16", 16},     OtherDType{"DT_RESOURCE", 20},
    OtherDType{"DT_VARIANT", 21}, OtherDType{"DT_FLOAT8_E5M2", 24}, OtherDType{"DT_FLOAT8_E4M3FN", 25},
    OtherDType{"DT_INT4", 29},    OtherDType{"DT_UINT4", 30},
};

/// Converts a message from text to bytes. @throws DataLossError, naming `what`, if it does not parse.
[[nodiscard]] TRAINHOOK_DECL std::string wire_from_text(std::string_view text, std::string_view what,
                                                        std::span<const FieldSchema> schema);

/// Converts a message that this library has written from bytes to text.
[[nodiscard]] TRAINHOOK_DECL std::string text_from_wire(std::string_view bytes, std::span<const FieldSchema> schema);

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/graph_def/impl/message_schema.ipp>
#endif
