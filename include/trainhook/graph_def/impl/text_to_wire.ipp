// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of text_to_wire.hpp.
#pragma once

#include <trainhook/graph_def/text_to_wire.hpp>

#include <algorithm>
#include <charconv>
#include <limits>
#include <vector>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/proto/text_proto_parser.hpp>
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
      case FieldKind::Integer: return writer.add_uint64(schema.number, integer(field));
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

}  // namespace trainhook::detail
