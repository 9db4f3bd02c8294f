// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/proto/text_proto.hpp>

#include <cctype>
#include <utility>

#include <fmt/format.h>

#include <trainhook/core/error.hpp>

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

std::vector<TextProtoField> TextProtoParser::parse() {
  std::vector<TextProtoField> fields;
  skip_space();
  while (at_ < text_.size()) parse_field(fields, 0);
  return fields;
}

void TextProtoParser::fail(std::string_view problem) const {
  std::size_t line = 1;
  for (const char character : text_.substr(0, at_)) line += character == '\n' ? 1 : 0;
  throw DataLossError("{} does not parse: {} in line {}", what_, problem, line);
}

char TextProtoParser::peek() const noexcept { return at_ < text_.size() ? text_[at_] : '\0'; }

void TextProtoParser::skip_space() noexcept {
  while (at_ < text_.size()) {
    if (text_[at_] == '#') {
      while (at_ < text_.size() && text_[at_] != '\n') ++at_;
    } else if (std::isspace(static_cast<unsigned char>(text_[at_])) != 0) {
      ++at_;
    } else {
      return;
    }
  }
}

bool TextProtoParser::take(char wanted) {
  if (peek() != wanted || at_ >= text_.size()) return false;
  ++at_;
  skip_space();
  return true;
}

void TextProtoParser::demand(char wanted) {
  if (!take(wanted)) fail(fmt::format("expected '{}'", wanted));
}

bool TextProtoParser::is_word(char character) noexcept {
  return std::isalnum(static_cast<unsigned char>(character)) != 0 ||
         std::string_view("_.+-").find(character) != std::string_view::npos;
}

std::string TextProtoParser::take_word() {
  const std::size_t start = at_;
  while (at_ < text_.size() && is_word(text_[at_])) ++at_;
  if (at_ == start) fail("expected a name or a value");
  std::string word(text_.substr(start, at_ - start));
  skip_space();
  return word;
}

std::string TextProtoParser::take_name() {
  if (peek() != '[') return take_word();
  const std::size_t end = text_.find(']', at_);
  if (end == std::string_view::npos) fail("expected ']'");
  std::string name(text_.substr(at_, end + 1 - at_));
  at_ = end + 1;
  skip_space();
  return name;
}

void TextProtoParser::parse_field(std::vector<TextProtoField>& fields, int depth) {
  const std::string name = take_name();
  const bool colon = take(':');
  if (peek() == '[') {
    take('[');
    if (!take(']')) {
      do parse_value(name, fields, depth);
      while (take(','));
      demand(']');
    }
  } else if (colon || peek() == '{' || peek() == '<') {
    parse_value(name, fields, depth);
  } else {
    fail(fmt::format("expected ':' after {}", name));
  }
  if (!take(',')) static_cast<void>(take(';'));
}

void TextProtoParser::parse_value(const std::string& name, std::vector<TextProtoField>& fields, int depth) {
  TextProtoField field{.name = name};
  if (peek() == '{' || peek() == '<') {
    if (depth >= kMaxDepth) fail("messages are nested too deeply");
    const char closing = peek() == '{' ? '}' : '>';
    ++at_;
    skip_space();
    field.kind = TextProtoField::Kind::Message;
    while (!take(closing)) {
      if (at_ >= text_.size()) fail(fmt::format("expected '{}'", closing));
      parse_field(field.fields, depth + 1);
    }
  } else if (peek() == '"' || peek() == '\'') {
    field.kind = TextProtoField::Kind::String;
    while (peek() == '"' || peek() == '\'') take_literal(field.text);
  } else {
    field.text = take_word();
  }
  fields.push_back(std::move(field));
}

void TextProtoParser::take_literal(std::string& into) {
  const char quote = text_[at_++];
  while (peek() != quote || at_ >= text_.size()) {
    if (at_ >= text_.size() || text_[at_] == '\n') fail("expected the end of a string");
    const char character = text_[at_++];
    if (character == '\\') {
      take_escape(into);
    } else {
      into += character;
    }
  }
  ++at_;
  skip_space();
}

void TextProtoParser::take_escape(std::string& into) {
  if (at_ >= text_.size()) fail("expected the end of a string");
  const char character = text_[at_++];
  switch (character) {
    case 'n': into += '\n'; return;
    case 'r': into += '\r'; return;
    case 't': into += '\t'; return;
    case 'a': into += '\a'; return;
    case 'b': into += '\b'; return;
    case 'f': into += '\f'; return;
    case 'v': into += '\v'; return;
    case 'x':
    case 'X': into += take_digits(16, 2, 0); return;
    case '"':
    case '\'':
    case '?':
    case '\\': into += character; return;
    default:
      if (digit_value(character) >= 8) fail("a string has an unknown escape");
      into += take_digits(8, 2, digit_value(character));
  }
}

unsigned TextProtoParser::digit_value(char character) noexcept {
  if (character >= '0' && character <= '9') return static_cast<unsigned>(character - '0');
  if (character >= 'a' && character <= 'f') return static_cast<unsigned>(character - 'a' + 10);
  if (character >= 'A' && character <= 'F') return static_cast<unsigned>(character - 'A' + 10);
  return 99;
}

char TextProtoParser::take_digits(unsigned base, int most, unsigned value) {
  const bool need_one = base == 16;
  int taken = 0;
  for (; taken < most && digit_value(peek()) < base; ++taken) value = value * base + digit_value(text_[at_++]);
  if ((need_one && taken == 0) || value > 255) fail("a string has a bad escape");
  return static_cast<char>(value);
}

std::vector<TextProtoField> parse_text_proto(std::string_view text, std::string_view what) {
  return TextProtoParser(text, what).parse();
}

}  // namespace trainhook::detail
