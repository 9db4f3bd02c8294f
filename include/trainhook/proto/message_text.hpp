// SPDX-License-Identifier: Apache-2.0
/// @file
/// The text form of messages that have a table of fields (`message.hpp`).
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <trainhook/core/error.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/proto/message.hpp>
#include <trainhook/proto/text_proto_parser.hpp>
#include <trainhook/proto/text_proto_printer.hpp>

namespace trainhook::detail {

/// The names of an enum's values, specialised beside the enum: static functions `name_of(E)`, which returns an empty
/// name for a value without one, and `value_of(std::string_view)`, which returns an optional E. Without a
/// specialisation, values are printed as numbers.
template <class E>
struct ProtoNames {};
template <class E>
concept ProtoNamed = requires(E value, std::string_view name) {
  ProtoNames<E>::name_of(value);
  ProtoNames<E>::value_of(name);
};

template <class T>
void print_field(TextProtoPrinter& printer, std::string_view name, const T& value);

/// Prints what `append_message` would write.
template <ProtoMessage M>
void print_message(TextProtoPrinter& printer, const M& message) {
  for_each_member(message, [&](const auto& value, std::uint32_t, std::string_view name) {
    if (is_written(value)) print_field(printer, name, value);
  });
}

template <class T>
void print_field(TextProtoPrinter& printer, std::string_view name, const T& value) {
  if constexpr (kIsOptional<T>) {
    print_field(printer, name, *value);
  } else if constexpr (ProtoRepeated<T>) {
    for (const auto& element : value) print_field(printer, name, element);
  } else if constexpr (ProtoBytes<T>) {
    printer.string(name, value);
  } else if constexpr (ProtoMessage<T>) {
    printer.message(name, [&] { print_message(printer, value); });
  } else if constexpr (std::is_same_v<T, bool>) {
    printer.boolean(name, value);
  } else if constexpr (std::is_same_v<T, Fixed32>) {
    printer.number(name, value.value);
  } else if constexpr (std::is_enum_v<T>) {
    std::string_view symbol;
    if constexpr (ProtoNamed<T>) symbol = ProtoNames<T>::name_of(value);
    if (symbol.empty()) {
      printer.number(name, static_cast<std::int64_t>(value));
    } else {
      printer.enumerator(name, symbol);
    }
  } else {
    printer.number(name, value);
  }
}

/// The message in text form.
template <ProtoMessage M>
[[nodiscard]] std::string message_text(const M& message) {
  TextProtoPrinter printer;
  print_message(printer, message);
  return std::move(printer).text();
}

// The value of a field. `what` names the message in errors. @throws DataLossError if the value is of another kind.
[[nodiscard]] TRAINHOOK_DECL const std::string& text_of_field(const TextProtoField& field, std::string_view what);
[[nodiscard]] TRAINHOOK_DECL double number_of_field(const TextProtoField& field, std::string_view what);
[[nodiscard]] TRAINHOOK_DECL std::int64_t integer_of_field(const TextProtoField& field, std::string_view what);
[[nodiscard]] TRAINHOOK_DECL bool boolean_of_field(const TextProtoField& field, std::string_view what);
[[nodiscard]] TRAINHOOK_DECL const std::vector<TextProtoField>& fields_of_field(const TextProtoField& field,
                                                                                std::string_view what);

template <ProtoMessage M>
void read_text_fields(const std::vector<TextProtoField>& fields, std::string_view what, M& message);

template <class T>
void read_text_field(const TextProtoField& field, std::string_view what, T& value) {
  if constexpr (kIsOptional<T>) {
    read_text_field(field, what, value.emplace());
  } else if constexpr (ProtoRepeated<T>) {
    ProtoElement<T> element{};
    read_text_field(field, what, element);
    value.push_back(std::move(element));
  } else if constexpr (ProtoBytes<T>) {
    value = text_of_field(field, what);
  } else if constexpr (ProtoMessage<T>) {
    read_text_fields(fields_of_field(field, what), what, value);
  } else if constexpr (std::is_same_v<T, bool>) {
    value = boolean_of_field(field, what);
  } else if constexpr (std::is_floating_point_v<T>) {
    value = static_cast<T>(number_of_field(field, what));
  } else if constexpr (std::is_same_v<T, Fixed32>) {
    value.value = static_cast<std::uint32_t>(integer_of_field(field, what));
  } else if constexpr (ProtoNamed<T>) {
    const bool is_bare = field.kind == TextProtoField::Kind::Bare;
    const std::optional<T> named = is_bare ? ProtoNames<T>::value_of(field.text) : std::nullopt;
    value = named ? *named : static_cast<T>(integer_of_field(field, what));
  } else {
    value = static_cast<T>(integer_of_field(field, what));
  }
}

template <ProtoMessage M>
void read_text_fields(const std::vector<TextProtoField>& fields, std::string_view what, M& message) {
  clear_message(message);
  for (const TextProtoField& text : fields) {
    for_each_member(message, [&](auto& value, std::uint32_t, std::string_view name) {
      if (name == text.name) read_text_field(text, what, value);
    });
  }
}

/// Parses the text form of a message and skips fields that are not in the table. `what` names the message in errors.
/// Not for messages with a `std::string_view` member, which would dangle. @throws DataLossError if `text` does not
/// parse, or a field has a value of another kind.
template <ProtoMessage M>
[[nodiscard]] M parse_message_text(std::string_view text, std::string_view what) {
  M message;
  read_text_fields(parse_text_proto(text, what), what, message);
  return message;
}

/// Converts the text form of a message to its bytes. @throws as `parse_message_text` does.
template <ProtoMessage M>
[[nodiscard]] std::string bytes_from_text(std::string_view text, std::string_view what) {
  const std::vector<TextProtoField> fields = parse_text_proto(text, what);
  M message;
  read_text_fields(fields, what, message);
  return message_bytes(message);
}

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/proto/impl/message_text.ipp>
#endif
