// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of message_text.hpp.
#pragma once

#include <trainhook/proto/message_text.hpp>

#include <charconv>
#include <system_error>

namespace trainhook::detail {

TRAINHOOK_DECL DataLossError wrong_kind(const TextProtoField& field, std::string_view what, std::string_view wanted) {
  return DataLossError("{}: {} is not {}", what, field.name, wanted);
}

/// All of a bare word as a number.
template <class T>
bool reads_as(const TextProtoField& field, T& value) {
  const char* const last = field.text.data() + field.text.size();
  const auto [end, error] = std::from_chars(field.text.data(), last, value);
  return field.kind == TextProtoField::Kind::Bare && error == std::errc{} && end == last;
}

TRAINHOOK_DECL const std::string& text_of_field(const TextProtoField& field, std::string_view what) {
  if (field.kind != TextProtoField::Kind::String) throw wrong_kind(field, what, "a string");
  return field.text;
}

TRAINHOOK_DECL double number_of_field(const TextProtoField& field, std::string_view what) {
  double value = 0;
  if (!reads_as(field, value)) throw wrong_kind(field, what, "a number");
  return value;
}

TRAINHOOK_DECL std::int64_t integer_of_field(const TextProtoField& field, std::string_view what) {
  std::int64_t value = 0;
  if (reads_as(field, value)) return value;
  std::uint64_t large = 0;
  if (!reads_as(field, large)) throw wrong_kind(field, what, "an integer");
  return static_cast<std::int64_t>(large);
}

TRAINHOOK_DECL bool boolean_of_field(const TextProtoField& field, std::string_view what) {
  if (field.kind == TextProtoField::Kind::Bare) {
    if (field.text == "true" || field.text == "True" || field.text == "t" || field.text == "1") return true;
    if (field.text == "false" || field.text == "False" || field.text == "f" || field.text == "0") return false;
  }
  throw wrong_kind(field, what, "true or false");
}

TRAINHOOK_DECL const std::vector<TextProtoField>& fields_of_field(const TextProtoField& field, std::string_view what) {
  if (field.kind != TextProtoField::Kind::Message) throw wrong_kind(field, what, "a message");
  return field.fields;
}

}  // namespace trainhook::detail
