// SPDX-License-Identifier: Apache-2.0
/// @file
/// Parses protobuf's text format into a tree of fields, without knowing the message's type.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <trainhook/core/linkage.hpp>

namespace trainhook::detail {

/// One field. A list in brackets becomes several fields of the same name.
struct TextProtoField {
  enum class Kind { String, Bare, Message };

  std::string name{};
  Kind kind = Kind::Bare;
  std::string text{};  ///< String: the characters, unescaped. Bare: a number, boolean or enumerator, as written.
  std::vector<TextProtoField> fields{};  ///< Message
};

/// A recursive-descent parser of `field*` with `field = name [":"] value [","|";"]`, `#` comments, both kinds of quotes
/// and both kinds of brackets.
class TextProtoParser {
 public:
  TextProtoParser(std::string_view text, std::string_view what) : text_(text), what_(what) {}

  [[nodiscard]] TRAINHOOK_DECL std::vector<TextProtoField> parse();

 private:
  static constexpr int kMaxDepth = 100;

  [[noreturn]] TRAINHOOK_DECL void fail(std::string_view problem) const;
  [[nodiscard]] TRAINHOOK_DECL char peek() const noexcept;
  TRAINHOOK_DECL void skip_space() noexcept;
  TRAINHOOK_DECL bool take(char wanted);
  TRAINHOOK_DECL void demand(char wanted);
  TRAINHOOK_DECL static bool is_word(char character) noexcept;
  TRAINHOOK_DECL std::string take_word();

  /// Takes a plain name, or the name of an extension or Any in brackets.
  TRAINHOOK_DECL std::string take_name();

  TRAINHOOK_DECL void parse_field(std::vector<TextProtoField>& fields, int depth);
  TRAINHOOK_DECL void parse_value(const std::string& name, std::vector<TextProtoField>& fields, int depth);
  TRAINHOOK_DECL void take_literal(std::string& into);
  TRAINHOOK_DECL void take_escape(std::string& into);
  TRAINHOOK_DECL static unsigned digit_value(char character) noexcept;
  TRAINHOOK_DECL char take_digits(unsigned base, int most, unsigned value);

  std::string_view text_;
  std::string_view what_;
  std::size_t at_ = 0;
};

/// The fields of a message in text form. @throws DataLossError, naming `what` and the line, if it does not parse.
[[nodiscard]] TRAINHOOK_DECL std::vector<TextProtoField> parse_text_proto(std::string_view text, std::string_view what);

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/proto/impl/text_proto_parser.ipp>
#endif
