// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of message_text.hpp.
#pragma once

#include <trainhook/proto/message_text.hpp>

#include <charconv>
#include <cstddef>
#include <limits>
#include <system_error>

namespace trainhook::detail {

TRAINHOOK_DECL DataLossError wrong_value(const TextProtoField& field, std::string_view what) {
  const std::string_view shown = field.kind == TextProtoField::Kind::Message ? "{...}" : std::string_view(field.text);
  return DataLossError("{} is damaged or of another format: {} is no value for the field {}", what, shown, field.name);
}

/// All of a bare word as a number.
template <class T>
bool reads_as(const TextProtoField& field, T& value) {
  const char* const last = field.text.data() + field.text.size();
  const auto [end, error] = std::from_chars(field.text.data(), last, value);
  return field.kind == TextProtoField::Kind::Bare && error == std::errc{} && end == last;
}

TRAINHOOK_DECL const std::string& text_of_field(const TextProtoField& field, std::string_view what) {
  if (field.kind != TextProtoField::Kind::String) throw wrong_value(field, what);
  return field.text;
}

/// `1e999` is infinite, `1e-999` nothing.
TRAINHOOK_DECL double beyond_range(std::string_view text) {
  const std::size_t exponent = text.find_first_of("eE");
  if (exponent != std::string_view::npos && text.substr(exponent + 1).starts_with('-')) return 0;
  return text.starts_with('-') ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
}

TRAINHOOK_DECL double number_of_field(const TextProtoField& field, std::string_view what) {
  std::string_view text = field.text;
  if (text.starts_with('+')) text.remove_prefix(1);
  if (text.ends_with('f') && !text.ends_with("inf")) text.remove_suffix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (field.kind != TextProtoField::Kind::Bare || text.empty() || end != text.data() + text.size())
    throw wrong_value(field, what);
  if (error == std::errc::result_out_of_range) return beyond_range(text);
  if (error != std::errc{}) throw wrong_value(field, what);
  return value;
}

TRAINHOOK_DECL std::int64_t integer_of_field(const TextProtoField& field, std::string_view what) {
  std::int64_t value = 0;
  if (reads_as(field, value)) return value;
  std::uint64_t large = 0;
  if (!reads_as(field, large)) throw wrong_value(field, what);
  return static_cast<std::int64_t>(large);
}

TRAINHOOK_DECL bool boolean_of_field(const TextProtoField& field, std::string_view what) {
  if (field.kind == TextProtoField::Kind::Bare) {
    if (field.text == "true" || field.text == "True" || field.text == "t" || field.text == "1") return true;
    if (field.text == "false" || field.text == "False" || field.text == "f" || field.text == "0") return false;
  }
  throw wrong_value(field, what);
}

TRAINHOOK_DECL const std::vector<TextProtoField>& fields_of_field(const TextProtoField& field, std::string_view what) {
  if (field.kind != TextProtoField::Kind::Message) throw wrong_value(field, what);
  return field.fields;
}

}  // namespace trainhook::detail
