// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/proto/message_text.hpp>

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include <trainhook/core/coding.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/proto/text_proto.hpp>
#include <trainhook/proto/wire.hpp>

namespace trainhook::detail {

inline DataLossError wrong_value(const TextProtoField& field, std::string_view what) {
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

inline const std::string& text_of_field(const TextProtoField& field, std::string_view what) {
  if (field.kind != TextProtoField::Kind::String) throw wrong_value(field, what);
  return field.text;
}

/// `1e999` is infinite, `1e-999` nothing.
inline double beyond_range(std::string_view text) {
  const std::size_t exponent = text.find_first_of("eE");
  if (exponent != std::string_view::npos && text.substr(exponent + 1).starts_with('-')) return 0;
  return text.starts_with('-') ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
}

inline double number_of_field(const TextProtoField& field, std::string_view what) {
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

inline std::uint64_t integer_of_field(const TextProtoField& field, std::string_view what) {
  std::int64_t value = 0;
  if (reads_as(field, value)) return static_cast<std::uint64_t>(value);
  std::uint64_t large = 0;
  if (!reads_as(field, large)) throw wrong_value(field, what);
  return large;
}

inline bool boolean_of_field(const TextProtoField& field, std::string_view what) {
  if (field.kind == TextProtoField::Kind::Bare) {
    if (field.text == "true" || field.text == "True" || field.text == "t" || field.text == "1") return true;
    if (field.text == "false" || field.text == "False" || field.text == "f" || field.text == "0") return false;
  }
  throw wrong_value(field, what);
}

inline std::uint64_t enumerator_of_field(const TextProtoField& field, const ValueNames& names, std::string_view what) {
  if (field.kind == TextProtoField::Kind::Bare) {
    if (const std::optional<std::uint64_t> value = names.value_of(field.text)) return *value;
  }
  return integer_of_field(field, what);
}

inline void append_text_fields(std::string& bytes, const std::vector<TextProtoField>& fields,
                               std::span<const TextField> known, std::string_view what);

inline void append_text_field(std::string& bytes, const TextProtoField& field, const TextField& known,
                              std::string_view what) {
  const auto append = [&](const auto& value) { append_element(bytes, known.number, value); };
  if (known.names != nullptr) return append(enumerator_of_field(field, *known.names, what));
  switch (known.kind) {
    case TextField::Kind::Bytes: return append(text_of_field(field, what));
    case TextField::Kind::Signed:
    case TextField::Kind::Unsigned: return append(integer_of_field(field, what));
    case TextField::Kind::Boolean: return append(boolean_of_field(field, what));
    case TextField::Kind::Float: return append(static_cast<float>(number_of_field(field, what)));
    case TextField::Kind::Double: return append(number_of_field(field, what));
    case TextField::Kind::Fixed32: return append(Fixed32{static_cast<std::uint32_t>(integer_of_field(field, what))});
    case TextField::Kind::Message: {
      if (field.kind != TextProtoField::Kind::Message) throw wrong_value(field, what);
      std::string message;
      append_text_fields(message, field.fields, known.fields, what);
      return append(message);
    }
  }
}

void append_text_fields(std::string& bytes, const std::vector<TextProtoField>& fields, std::span<const TextField> known,
                        std::string_view what) {
  for (const TextProtoField& field : fields) {
    const auto found = std::ranges::find(known, field.name, &TextField::name);
    if (found != known.end()) append_text_field(bytes, field, *found, what);
  }
}

std::string wire_from_text(std::string_view text, std::string_view what, std::span<const TextField> fields) {
  std::string bytes;
  append_text_fields(bytes, parse_text_proto(text, what), fields, what);
  return bytes;
}

inline void print_enumerator(TextProtoPrinter& printer, const TextField& field, std::int64_t value) {
  const std::string_view symbol = field.names->name_of(static_cast<std::uint64_t>(value));
  if (symbol.empty()) return printer.number(field.name, value);
  printer.enumerator(field.name, symbol);
}

inline void print_fields(TextProtoPrinter& printer, WireReader reader, std::span<const TextField> known) {
  while (reader.next()) {
    const auto field = std::ranges::find(known, reader.tag(), &TextField::number);
    if (field == known.end()) throw InternalError("a message has a field {}, which its schema lacks", reader.tag());
    const auto print = [&](auto value) { printer.number(field->name, value); };
    switch (field->names == nullptr ? field->kind : TextField::Kind::Signed) {
      case TextField::Kind::Bytes: printer.string(field->name, reader.get_bytes()); break;
      case TextField::Kind::Signed:
        reader.for_each<std::int64_t>([&](std::int64_t value) {
          if (field->names == nullptr) return print(value);
          print_enumerator(printer, *field, value);
        });
        break;
      case TextField::Kind::Unsigned: reader.for_each<std::uint64_t>(print); break;
      case TextField::Kind::Boolean:
        reader.for_each<std::uint64_t>([&](std::uint64_t value) { printer.boolean(field->name, value != 0); });
        break;
      case TextField::Kind::Float: reader.for_each<float>(print); break;
      case TextField::Kind::Double: reader.for_each<double>(print); break;
      case TextField::Kind::Fixed32: print(reader.get_fixed32()); break;
      case TextField::Kind::Message:
        printer.message(field->name, [&] { print_fields(printer, reader.get_message(), field->fields); });
        break;
    }
  }
}

std::string text_from_wire(std::string_view bytes, std::span<const TextField> fields) {
  TextProtoPrinter printer;
  print_from_wire(printer, bytes, fields);
  return std::move(printer).text();
}

void print_from_wire(TextProtoPrinter& printer, std::string_view bytes, std::span<const TextField> fields) {
  print_fields(printer, WireReader(bytes, "a message of this library"), fields);
}

bool has_line_of(std::string_view text, std::span<const TextField> fields) {
  const auto is_cut_off = [text](const TextField& field) { return field.name.starts_with(text); };
  if (!text.empty() && std::ranges::any_of(fields, is_cut_off)) return true;
  const auto skip_space = [](std::string_view& line) {
    line.remove_prefix((std::min)(line.find_first_not_of(" \t\r"), line.size()));
  };
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix((std::min)(line.size() + 1, text.size()));
    skip_space(line);
    const std::string_view name = line.substr(0, line.find_first_of(": \t\r{<"));
    if (std::ranges::find(fields, name, &TextField::name) == fields.end()) continue;
    line.remove_prefix(name.size());
    skip_space(line);
    if (line.empty() || line.starts_with(':') || line.starts_with('{') || line.starts_with('<')) return true;
  }
  return false;
}

}  // namespace trainhook::detail
