// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of message_schema.hpp.
#pragma once

#include <trainhook/graph_def/message_schema.hpp>

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>
#include <vector>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/proto/text_proto_parser.hpp>
#include <trainhook/proto/text_proto_printer.hpp>
#include <trainhook/proto/wire.hpp>

namespace trainhook::detail {

/// Encodes parsed text. Fields that the schema does not have are left out, as unknown numbers are in the wire format.
class TextToWire {
 public:
  explicit TextToWire(std::string_view what) : what_(what) {}

  void write(WireWriter& writer, const std::vector<TextProtoField>& fields, std::span<const FieldSchema> schema) const {
    for (const TextProtoField& field : fields) {
      const auto known = std::ranges::find(schema, field.name, &FieldSchema::name);
      if (known != schema.end()) write_field(writer, field, *known);
    }
  }

 private:
  [[noreturn]] void fail(const TextProtoField& field) const {
    const std::string shown = field.kind == TextProtoField::Kind::Message ? "{...}" : field.text;
    throw DataLossError("{} is damaged or of another format: {} is no value for the field {}", what_, shown,
                        field.name);
  }

  void write_field(WireWriter& writer, const TextProtoField& field, const FieldSchema& schema) const {
    const auto expect = [&](TextProtoField::Kind kind) {
      if (field.kind != kind) fail(field);
    };
    using Kind = TextProtoField::Kind;
    expect(schema.kind == FieldKind::Message ? Kind::Message
           : schema.kind == FieldKind::Bytes ? Kind::String
                                             : Kind::Bare);
    switch (schema.kind) {
      case FieldKind::Bytes: return writer.add_bytes(schema.number, field.text);
      case FieldKind::Integer:
      case FieldKind::Unsigned: return writer.add_uint64(schema.number, integer(field));
      case FieldKind::Boolean: return writer.add_bool(schema.number, boolean(field));
      case FieldKind::Float: return writer.add_float(schema.number, static_cast<float>(real(field)));
      case FieldKind::Double: return writer.add_double(schema.number, real(field));
      case FieldKind::DataType: return writer.add_uint64(schema.number, data_type(field));
      case FieldKind::CheckpointVersion:
        return writer.add_uint64(schema.number, field.text == "V2" ? 2 : field.text == "V1" ? 1 : 0);
      case FieldKind::Message:
        return add_wire_message(writer, schema.number, [&](WireWriter& inner) {
          write(inner, field.fields, {schema.fields, schema.num_fields});
        });
    }
  }

  [[nodiscard]] std::uint64_t integer(const TextProtoField& field) const {
    const char* const first = field.text.data();
    const char* const last = first + field.text.size();
    std::uint64_t large = 0;
    if (const auto [end, error] = std::from_chars(first, last, large); error == std::errc{} && end == last)
      return large;
    std::int64_t value = 0;
    if (const auto [end, error] = std::from_chars(first, last, value); error == std::errc{} && end == last) {
      return static_cast<std::uint64_t>(value);
    }
    fail(field);
  }

  [[nodiscard]] bool boolean(const TextProtoField& field) const {
    if (field.text == "true" || field.text == "True" || field.text == "t" || field.text == "1") return true;
    if (field.text == "false" || field.text == "False" || field.text == "f" || field.text == "0") return false;
    fail(field);
  }

  [[nodiscard]] double real(const TextProtoField& field) const {
    std::string_view text = field.text;
    if (text.starts_with('+')) text.remove_prefix(1);
    if (text.ends_with('f') && !text.ends_with("inf")) text.remove_suffix(1);
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (end != text.data() + text.size() || text.empty()) fail(field);
    if (error == std::errc::result_out_of_range) return out_of_range(text);
    if (error != std::errc{}) fail(field);
    return value;
  }

  /// `1e999` is infinite, `1e-999` nothing.
  [[nodiscard]] static double out_of_range(std::string_view text) {
    const std::size_t exponent = text.find_first_of("eE");
    if (exponent != std::string_view::npos && text.substr(exponent + 1).starts_with('-')) return 0;
    return text.starts_with('-') ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
  }

  [[nodiscard]] std::uint64_t data_type(const TextProtoField& field) const {
    std::string_view name = field.text;
    if (name.ends_with("_REF")) name.remove_suffix(4);
    const auto known = std::ranges::find(kDTypes, name, &DTypeInfo::proto);
    if (known != kDTypes.end()) return static_cast<std::uint64_t>(known->dtype);
    if (name == "DT_INVALID") return 0;
    const auto other = std::ranges::find(kOtherDTypes, name, &OtherDType::name);
    return other != kOtherDTypes.end() ? other->number : integer(field);
  }

  std::string_view what_;
};

TRAINHOOK_DECL std::string wire_from_text(std::string_view text, std::string_view what,
                                          std::span<const FieldSchema> schema) {
  std::string bytes;
  WireWriter writer(bytes);
  TextToWire(what).write(writer, parse_text_proto(text, what), schema);
  return bytes;
}

TRAINHOOK_DECL void print_data_type(TextProtoPrinter& printer, std::string_view name, std::uint64_t number) {
  const auto known = std::ranges::find(kDTypes, static_cast<DType>(number), &DTypeInfo::dtype);
  if (known != kDTypes.end()) return printer.enumerator(name, known->proto);
  printer.number(name, number);
}

TRAINHOOK_DECL void print_fields(TextProtoPrinter& printer, WireReader reader, std::span<const FieldSchema> schema) {
  while (reader.next()) {
    const auto field = std::ranges::find(schema, reader.tag(), &FieldSchema::number);
    if (field == schema.end()) throw InternalError("a message has a field {}, which its schema lacks", reader.tag());
    const auto print = [&](auto value) { printer.number(field->name, value); };
    switch (field->kind) {
      case FieldKind::Bytes: printer.string(field->name, reader.get_bytes()); break;
      case FieldKind::Integer: reader.for_each<std::int64_t>(print); break;
      case FieldKind::Unsigned: reader.for_each<std::uint64_t>(print); break;
      case FieldKind::Float: reader.for_each<float>(print); break;
      case FieldKind::Double: reader.for_each<double>(print); break;
      case FieldKind::Boolean:
        reader.for_each<std::uint64_t>([&](std::uint64_t value) { printer.boolean(field->name, value != 0); });
        break;
      case FieldKind::DataType:
        reader.for_each<std::uint64_t>([&](std::uint64_t value) { print_data_type(printer, field->name, value); });
        break;
      case FieldKind::CheckpointVersion:
        reader.for_each<std::uint64_t>([&](std::uint64_t value) {
          printer.enumerator(field->name, value == 2 ? "V2" : value == 1 ? "V1" : "LEGACY");
        });
        break;
      case FieldKind::Message:
        printer.message(field->name, [&] {
          print_fields(printer, reader.get_message(), {field->fields, field->num_fields});
        });
        break;
    }
  }
}

TRAINHOOK_DECL std::string text_from_wire(std::string_view bytes, std::span<const FieldSchema> schema) {
  TextProtoPrinter printer;
  print_fields(printer, WireReader(bytes, "a message of this library"), schema);
  return std::move(printer).text();
}

}  // namespace trainhook::detail
