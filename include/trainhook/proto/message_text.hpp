// SPDX-License-Identifier: Apache-2.0
/// @file
/// The text form of messages that have a table of fields (`message.hpp`): text is converted to bytes and bytes to text,
/// by the table.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <variant>

#include <trainhook/core/linkage.hpp>
#include <trainhook/proto/message.hpp>

namespace trainhook::detail {

class TextProtoPrinter;

/// A field of a table without its member, so that one function serves all messages.
struct TextField {
  enum class Kind { Bytes, Signed, Unsigned, Boolean, Float, Double, Fixed32, Message };

  std::string_view name{};
  std::uint32_t number = 0;
  Kind kind = Kind::Message;
  const ValueNames* names = nullptr;    ///< of an enum
  std::span<const TextField> fields{};  ///< of a nested message
};

/// The fields of message `M` for its text form.
template <class M>
[[nodiscard]] constexpr auto text_fields();
template <class M>
inline constexpr auto kTextFields = text_fields<M>();

template <class T>
[[nodiscard]] constexpr TextField::Kind text_kind() {
  using Kind = TextField::Kind;
  if constexpr (ProtoBytes<T>) return Kind::Bytes;
  if constexpr (std::is_same_v<T, bool>) return Kind::Boolean;
  if constexpr (std::is_same_v<T, float>) return Kind::Float;
  if constexpr (std::is_same_v<T, double>) return Kind::Double;
  if constexpr (std::is_same_v<T, Fixed32>) return Kind::Fixed32;
  return std::is_unsigned_v<T> ? Kind::Unsigned : Kind::Signed;
}

/// The field whose values are in a member of type `T`.
template <class T>
[[nodiscard]] constexpr TextField text_field(std::uint32_t number, std::string_view name, const ValueNames* names) {
  if constexpr (kIsOptional<T>) {
    return text_field<typename T::value_type>(number, name, names);
  } else if constexpr (ProtoRepeated<T>) {
    return text_field<ProtoElement<T>>(number, name, names);
  } else if constexpr (ProtoMessage<T>) {
    return {.name = name, .number = number, .fields = kTextFields<T>};
  } else if constexpr (requires { typename T::Message; }) {
    return {.name = name, .number = number, .fields = kTextFields<typename T::Message>};
  } else {
    return {.name = name, .number = number, .kind = text_kind<T>(), .names = names};
  }
}
template <class M, class T>
[[nodiscard]] constexpr TextField text_field_of(const Field<M, T>& field) {
  return text_field<T>(field.number, field.name, field.names);
}
template <class M, class V, std::size_t I>
[[nodiscard]] constexpr TextField text_field_of(const Alternative<M, V, I>& field) {
  return text_field<std::variant_alternative_t<I, V>>(field.number, field.name, field.names);
}

template <class M>
[[nodiscard]] constexpr auto text_fields() {
  return std::apply(
      [](const auto&... fields) { return std::array<TextField, sizeof...(fields)>{text_field_of(fields)...}; },
      kFields<M>);
}

/// Converts a message from text to bytes: field by field, as they come. Skips those that are not in `fields`. `what`
/// names the message in errors. @throws DataLossError if `text` does not parse, or a field has a value of another kind.
[[nodiscard]] TRAINHOOK_DECL std::string wire_from_text(std::string_view text, std::string_view what,
                                                        std::span<const TextField> fields);

/// Converts a message that this library has written from bytes to text. @throws InternalError for a field that `fields`
/// lacks.
[[nodiscard]] TRAINHOOK_DECL std::string text_from_wire(std::string_view bytes, std::span<const TextField> fields);

/// The same with a printer, for messages whose fields come in pieces.
TRAINHOOK_DECL void print_from_wire(TextProtoPrinter& printer, std::string_view bytes,
                                    std::span<const TextField> fields);

/// The message in text form: what `append_message` would write.
template <ProtoMessage M>
[[nodiscard]] std::string message_text(const M& message) {
  return text_from_wire(message_bytes(message), kTextFields<M>);
}

/// Whether a line has one of `fields`, as in the text form of a message, or the text was cut off in the first one's
/// name.
[[nodiscard]] TRAINHOOK_DECL bool has_line_of(std::string_view text, std::span<const TextField> fields);

/// Whether a text may be the beginning of the text form of a message `M`, damaged or not. For `write_file_atomically`.
template <ProtoMessage M>
[[nodiscard]] bool looks_like_text_of(std::string_view text) {
  return has_line_of(text, kTextFields<M>);
}

/// Parses the text form of a message. Not for messages with a `std::string_view` member, which would dangle.
/// @throws as `wire_from_text` does.
template <ProtoMessage M>
[[nodiscard]] M parse_message_text(std::string_view text, std::string_view what) {
  return parse_message<M>(wire_from_text(text, what, kTextFields<M>), what);
}

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/proto/impl/message_text.ipp>
#endif
