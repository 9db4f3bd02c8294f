// SPDX-License-Identifier: Apache-2.0
/// @file
/// Two ways to write a protobuf message from one description of its fields: as bytes and as text.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <trainhook/core/linkage.hpp>
#include <trainhook/proto/text_proto_printer.hpp>
#include <trainhook/proto/wire.hpp>

namespace trainhook::detail {

/// Writes fields as protobuf's wire format. Has the same members as `TextSink`; each takes the number and the name of
/// its field.
class BinarySink {
 public:
  explicit BinarySink(WireWriter& writer) : writer_(writer) {}

  template <class Fill>
  void message(std::uint32_t tag, std::string_view, Fill&& fill) {
    add_wire_message(writer_, tag, [&](WireWriter& nested) {
      BinarySink sink(nested);
      std::forward<Fill>(fill)(sink);
    });
  }
  TRAINHOOK_DECL void bytes(std::uint32_t tag, std::string_view, std::string_view value);
  void integer(std::uint32_t tag, std::string_view, std::int64_t value) { writer_.add_int64(tag, value); }
  void boolean(std::uint32_t tag, std::string_view, bool value) { writer_.add_bool(tag, value); }
  void enumerator(std::uint32_t tag, std::string_view, int value, std::string_view) { writer_.add_enum(tag, value); }
  void real(std::uint32_t tag, std::string_view, float value) { writer_.add_float(tag, value); }
  void real(std::uint32_t tag, std::string_view, double value) { writer_.add_double(tag, value); }

  TRAINHOOK_DECL void integers(std::uint32_t tag, std::string_view, std::span<const std::int64_t> values);
  TRAINHOOK_DECL void reals(std::uint32_t tag, std::string_view, std::span<const float> values);
  TRAINHOOK_DECL void reals(std::uint32_t tag, std::string_view, std::span<const double> values);
  template <class Name>
  void enumerators(std::uint32_t tag, std::string_view, std::span<const std::int64_t> values, const Name&) {
    writer_.add_packed_int64(tag, values.begin(), values.end());
  }

 private:
  WireWriter& writer_;
};

/// Writes fields as protobuf's text format.
class TextSink {
 public:
  explicit TextSink(TextProtoPrinter& printer) : printer_(printer) {}

  template <class Fill>
  void message(std::uint32_t, std::string_view name, Fill&& fill) {
    printer_.message(name, [&] { std::forward<Fill>(fill)(*this); });
  }
  void bytes(std::uint32_t, std::string_view name, std::string_view value) { printer_.string(name, value); }
  void integer(std::uint32_t, std::string_view name, std::int64_t value) { printer_.number(name, value); }
  void boolean(std::uint32_t, std::string_view name, bool value) { printer_.boolean(name, value); }
  void enumerator(std::uint32_t, std::string_view name, int, std::string_view symbol) {
    printer_.enumerator(name, symbol);
  }
  void real(std::uint32_t, std::string_view name, float value) { printer_.number(name, value); }
  void real(std::uint32_t, std::string_view name, double value) { printer_.number(name, value); }

  TRAINHOOK_DECL void integers(std::uint32_t tag, std::string_view name, std::span<const std::int64_t> values);
  template <class T>
  void reals(std::uint32_t tag, std::string_view name, std::span<const T> values) {
    for (const T value : values) real(tag, name, value);
  }
  template <class Name>
  void enumerators(std::uint32_t, std::string_view name, std::span<const std::int64_t> values, const Name& symbol) {
    for (const std::int64_t value : values) printer_.enumerator(name, symbol(value));
  }

 private:
  TextProtoPrinter& printer_;
};

/// The message that `fill` describes, as bytes.
template <class Fill>
[[nodiscard]] std::string binary_message(Fill&& fill) {
  std::string bytes;
  WireWriter writer(bytes);
  BinarySink sink(writer);
  std::forward<Fill>(fill)(sink);
  return bytes;
}

/// The message that `fill` describes, as text.
template <class Fill>
[[nodiscard]] std::string text_message(Fill&& fill) {
  TextProtoPrinter printer;
  TextSink sink(printer);
  std::forward<Fill>(fill)(sink);
  return std::move(printer).text();
}

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/graph_def/impl/message_sinks.ipp>
#endif
