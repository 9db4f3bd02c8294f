// SPDX-License-Identifier: Apache-2.0
/// @file
/// Protobuf's text format into its wire format, for messages whose fields are described: one reader then serves both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <trainhook/core/linkage.hpp>

namespace trainhook::detail {

enum class FieldKind { Bytes, Integer, Boolean, Float, Double, DataType, CheckpointVersion, Message };

/// A field of a message: its name in text, its number in bytes, and how its value is written.
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

/// A nested message of which nothing is read.
[[nodiscard]] constexpr FieldSchema unread(std::string_view name, std::uint32_t number) {
  return {name, number, FieldKind::Message};
}

/// The message `text` as bytes. @throws DataLossError, naming `what`, if it does not parse.
[[nodiscard]] TRAINHOOK_DECL std::string wire_from_text(std::string_view text, std::string_view what,
                                                        std::span<const FieldSchema> schema);

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/graph_def/impl/text_to_wire.ipp>
#endif
