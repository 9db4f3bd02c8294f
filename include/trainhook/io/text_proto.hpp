// SPDX-License-Identifier: Apache-2.0
/// @file
/// Prints protobuf messages in their text format: one field a line, two spaces a level, as TensorFlow writes them.
#pragma once

#include <charconv>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include <trainhook/core/str_cat.hpp>

namespace trainhook {

/// The characters of a string field, escaped as protobuf does, without the quotes around them.
[[nodiscard]] inline std::string text_proto_escaped(std::string_view text) {
  std::string escaped;
  escaped.reserve(text.size());
  for (const char character : text) {
    const auto byte = static_cast<unsigned char>(character);
    switch (character) {
      case '\n': escaped += "\\n"; break;
      case '\r': escaped += "\\r"; break;
      case '\t': escaped += "\\t"; break;
      case '"': escaped += "\\\""; break;
      case '\'': escaped += "\\'"; break;
      case '\\': escaped += "\\\\"; break;
      default:
        if (byte >= 0x20 && byte < 0x7f) {
          escaped += character;
        } else {
          escaped += '\\';
          for (int shift = 6; shift >= 0; shift -= 3) escaped += static_cast<char>('0' + (byte >> shift & 7));
        }
    }
  }
  return escaped;
}

/// The shortest digits that read back as the same float or double, always with a point or an exponent: `1.0`, `1e-08`, `inf`, `nan`.
template <std::floating_point T>
[[nodiscard]] std::string text_proto_number(T value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::string text = str_cat(value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

/// Builds the text field by field:
/// `printer.message("node", [&] { printer.string("name", "x"); printer.enumerator("type", "DT_FLOAT"); });`
class TextProtoPrinter {
 public:
  void string(std::string_view name, std::string_view value) { line(name, str_cat('"', text_proto_escaped(value), '"')); }

  template <std::integral T>
    requires(!std::same_as<T, bool>)
  void number(std::string_view name, T value) {
    line(name, str_cat(value));
  }
  template <std::floating_point T>
  void number(std::string_view name, T value) {
    line(name, text_proto_number(value));
  }

  void boolean(std::string_view name, bool value) { line(name, value ? "true" : "false"); }

  /// An enum's value by its symbolic name.
  void enumerator(std::string_view name, std::string_view value) { line(name, value); }

  /// A nested message; `fill` prints its fields with this printer.
  template <class Fill>
  void message(std::string_view name, Fill&& fill) {
    begin_message(name);
    std::forward<Fill>(fill)();
    end_message();
  }

  void begin_message(std::string_view name) {
    indent();
    text_.append(name).append(" {\n");
    ++depth_;
  }

  /// Closes what `begin_message` opened last.
  void end_message() {
    --depth_;
    indent();
    text_ += "}\n";
  }

  [[nodiscard]] const std::string& text() const& noexcept { return text_; }
  [[nodiscard]] std::string text() && noexcept { return std::move(text_); }

 private:
  void indent() { text_.append(2 * depth_, ' '); }

  void line(std::string_view name, std::string_view value) {
    indent();
    text_.append(name).append(": ").append(value) += '\n';
  }

  std::string text_;
  std::size_t depth_ = 0;
};

}  // namespace trainhook
