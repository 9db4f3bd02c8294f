// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/proto/text_proto_printer.hpp>

namespace trainhook::detail {

inline constexpr std::size_t kTextPiece = std::size_t{64} << 10;

/// The number of characters that stand for one.
inline std::size_t escaped_size(char character) noexcept {
  constexpr std::string_view kWithLetter = "\n\r\t\"'\\";
  const auto byte = static_cast<unsigned char>(character);
  if (kWithLetter.find(character) != std::string_view::npos) return 2;
  return byte >= 0x20 && byte < 0x7f ? 1 : 4;
}

/// Makes room for a long value at once: a string that grows several times holds up to three times as much meanwhile.
inline void reserve_for_escaped(std::string& text, std::string_view value) {
  if (value.size() < kTextPiece) return;
  std::size_t size = text.size();
  for (const char character : value) size += escaped_size(character);
  text.reserve(size + size / 8);  // for what comes after it, too
}

void append_text_proto_escaped(std::string& escaped, std::string_view text) {
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
}

void TextProtoPrinter::string(std::string_view name, std::string_view value) {
  constexpr std::size_t kPart = 4096;
  indent();
  text_.append(name).append(": \"");
  if (!take_) reserve_for_escaped(text_, value);
  for (std::size_t start = 0; start < value.size(); start += kPart) {
    append_text_proto_escaped(text_, value.substr(start, kPart));
    give_piece();
  }
  text_.append("\"\n");
  give_piece();
}

void TextProtoPrinter::boolean(std::string_view name, bool value) { line(name, value ? "true" : "false"); }

void TextProtoPrinter::begin_message(std::string_view name) {
  indent();
  text_.append(name).append(" {\n");
  ++depth_;
}

void TextProtoPrinter::end_message() {
  --depth_;
  indent();
  text_ += "}\n";
}

void TextProtoPrinter::line(std::string_view name, std::string_view value) {
  indent();
  text_.append(name).append(": ").append(value) += '\n';
  give_piece();
}

void TextProtoPrinter::give_piece() {
  if (take_ && text_.size() >= kTextPiece) finish();
}

void TextProtoPrinter::finish() {
  if (!take_ || text_.empty()) return;
  take_(text_);
  text_.clear();
}

}  // namespace trainhook::detail
