// SPDX-License-Identifier: Apache-2.0
/// @file
/// Protobuf's text format: parses it into a tree of fields, without knowing the message's type, and prints messages as
/// TensorFlow does: one field per line, two spaces per level.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <trainhook/core/finite.hpp>
#include <trainhook/core/format.hpp>
#include <trainhook/core/function_ref.hpp>
#include <trainhook/core/linkage.hpp>

namespace trainhook::detail {

/// Appends the characters of a string field, escaped as protobuf does, without the quotes around them.
TRAINHOOK_DECL void append_text_proto_escaped(std::string& escaped, std::string_view text);

/// The shortest digits that read back as the same float or double, always with a point or an exponent: `1.0`, `1e-08`,
/// `inf`, `nan`.
template <std::floating_point T>
[[nodiscard]] std::string text_proto_number(T value) {
  if (!is_finite(value)) return non_finite_text(value);
  std::string text = number_text(value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

/// Builds the text field by field:
/// `printer.message("node", [&] { printer.string("name", "x"); printer.enumerator("type", "DT_FLOAT"); });`
class TextProtoPrinter {
 public:
  TextProtoPrinter() = default;

  /// Gives the text to `take` in pieces instead of keeping all of it. The last piece comes at `finish`.
  explicit TextProtoPrinter(FunctionRef<void(std::string_view piece)> take) : take_(take) {}

  TRAINHOOK_DECL void string(std::string_view name, std::string_view value);

  template <std::integral T>
    requires(!std::same_as<T, bool>)
  void number(std::string_view name, T value) {
    line(name,
         number_text(static_cast<std::conditional_t<std::signed_integral<T>, std::int64_t, std::uint64_t>>(value)));
  }
  template <std::floating_point T>
  void number(std::string_view name, T value) {
    line(name, text_proto_number(value));
  }

  TRAINHOOK_DECL void boolean(std::string_view name, bool value);

  /// An enum's value by its symbolic name.
  void enumerator(std::string_view name, std::string_view value) { line(name, value); }

  /// A nested message; `fill` prints its fields with this printer.
  template <class Fill>
  void message(std::string_view name, Fill&& fill) {
    begin_message(name);
    std::forward<Fill>(fill)();
    end_message();
  }

  TRAINHOOK_DECL void begin_message(std::string_view name);

  /// Closes the message that `begin_message` opened last.
  TRAINHOOK_DECL void end_message();

  TRAINHOOK_DECL void finish();

  /// All of the text, if it is kept.
  [[nodiscard]] const std::string& text() const& noexcept { return text_; }
  [[nodiscard]] std::string text() && noexcept { return std::move(text_); }

 private:
  void indent() { text_.append(2 * depth_, ' '); }

  TRAINHOOK_DECL void line(std::string_view name, std::string_view value);
  TRAINHOOK_DECL void give_piece();

  FunctionRef<void(std::string_view)> take_;
  std::string text_;  // that is not given away
  std::size_t depth_ = 0;
};

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
#include <trainhook/proto/impl/text_proto.ipp>
#endif
