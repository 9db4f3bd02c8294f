// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of text_proto_printer.hpp.
#pragma once

#include <trainhook/proto/text_proto_printer.hpp>

#include <fmt/format.h>

namespace trainhook::detail {

TRAINHOOK_DECL std::string text_proto_escaped(std::string_view text) {
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

TRAINHOOK_DECL void TextProtoPrinter::string(std::string_view name, std::string_view value) {
  line(name, fmt::format("\"{}\"", text_proto_escaped(value)));
}

TRAINHOOK_DECL void TextProtoPrinter::boolean(std::string_view name, bool value) {
  line(name, value ? "true" : "false");
}

TRAINHOOK_DECL void TextProtoPrinter::begin_message(std::string_view name) {
  indent();
  text_.append(name).append(" {\n");
  ++depth_;
}

TRAINHOOK_DECL void TextProtoPrinter::end_message() {
  --depth_;
  indent();
  text_ += "}\n";
}

TRAINHOOK_DECL void TextProtoPrinter::line(std::string_view name, std::string_view value) {
  indent();
  text_.append(name).append(": ").append(value) += '\n';
}

}  // namespace trainhook::detail
