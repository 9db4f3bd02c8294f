// SPDX-License-Identifier: Apache-2.0
/// @file
/// Prints protobuf messages in text format as TensorFlow does: one field per line, two spaces per level.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

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

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/proto/impl/text_proto_printer.ipp>
#endif
