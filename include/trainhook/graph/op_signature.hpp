// SPDX-License-Identifier: Apache-2.0
/// @file
/// The words of OpDef::signature and OpDef::attrs.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <trainhook/core/dtype.hpp>

namespace trainhook::detail {

/// Takes the words off a text one after the other.
class Words {
 public:
  explicit Words(std::string_view text, char separator = ' ') : text_(text), separator_(separator) {}

  [[nodiscard]] bool has_next() const noexcept { return !text_.empty(); }
  [[nodiscard]] std::string_view next() {
    const std::size_t end = text_.find(separator_);
    const std::string_view word = text_.substr(0, end);
    text_ = end == std::string_view::npos ? std::string_view() : text_.substr(end + 1);
    return word;
  }

 private:
  std::string_view text_;
  char separator_;
};

constexpr bool is_complex(DType dtype) noexcept { return dtype == DType::Complex64 || dtype == DType::Complex128; }

/// A set of dtypes that attributes may be limited to. Each has the floating ones.
struct DTypeClass {
  [[nodiscard]] constexpr bool contains(DType dtype) const {
    if (is_floating(dtype)) return true;
    if (is_integer(dtype)) return has_integers;
    return is_complex(dtype) ? has_complex : has_others;
  }

  std::string_view name{};
  std::string_view description{};
  bool has_integers = false;
  bool has_complex = false;
  bool has_others = false;
};

inline constexpr std::array kDTypeClasses{
    DTypeClass{
        .name = "type", .description = "any dtype", .has_integers = true, .has_complex = true, .has_others = true},
    DTypeClass{.name = "number", .description = "a numeric dtype", .has_integers = true, .has_complex = true},
    DTypeClass{.name = "real", .description = "a numeric dtype that has an order", .has_integers = true},
    DTypeClass{.name = "floating", .description = "a floating dtype; cast() it"},
    DTypeClass{.name = "inexact", .description = "a floating dtype; cast() it", .has_complex = true},
};

/// The dtypes that `kind` allows, as OpDef::attrs writes them.
class AllowedDTypes {
 public:
  explicit AllowedDTypes(std::string_view kind) : kind_(kind) {
    if (kind_.starts_with('{')) kind_ = kind_.substr(1, kind_.size() - 2);
  }

  [[nodiscard]] bool contains(DType dtype) const {
    for (Words words(kind_, ','); words.has_next();) {
      const std::string_view word = words.next();
      const auto found = std::ranges::find(kDTypeClasses, word, &DTypeClass::name);
      if (found == kDTypeClasses.end() ? dtype_name(dtype) == word : found->contains(dtype)) return true;
    }
    return false;
  }

  [[nodiscard]] std::string description() const {
    std::string text;
    for (Words words(kind_, ','); words.has_next();) {
      const std::string_view word = words.next();
      const auto found = std::ranges::find(kDTypeClasses, word, &DTypeClass::name);
      if (!text.empty()) text += words.has_next() ? ", " : " or ";
      text += found == kDTypeClasses.end() ? word : found->description;
    }
    return text;
  }

 private:
  std::string_view kind_;
};

/// One entry of OpDef::attrs.
struct AttrDef {
  std::string_view name{};
  std::string_view kind{};
  std::optional<std::string_view> value{};  ///< the default
  std::string_view strings{};               ///< those allowed, separated by commas; any if empty
  std::optional<int> above{};               ///< a number below all, or a size below that of all lists, that are allowed
};

/// Reads an entry such as `axis:int=0`.
inline AttrDef attr_def_of(std::string_view word) {
  const std::size_t colon = word.find(':');
  const std::size_t equals = word.find('=');
  AttrDef attr{.name = word.substr(0, colon),
               .kind = word.substr(colon + 1, equals == std::string_view::npos ? equals : equals - colon - 1)};
  if (equals != std::string_view::npos) attr.value = word.substr(equals + 1);
  if (attr.kind.starts_with("string{")) {
    attr.strings = attr.kind.substr(attr.kind.find('{') + 1, attr.kind.size() - attr.kind.find('{') - 2);
    attr.kind = "string";
  } else if (const std::size_t more = attr.kind.find('>'); more != std::string_view::npos) {
    attr.above = attr.kind.back() - '0';
    attr.kind = attr.kind.substr(0, more);
  }
  return attr;
}

/// The dtype of that name, as `dtype_name` gives it.
inline std::optional<DType> dtype_called(std::string_view name) {
  const auto found = std::ranges::find(kDTypes, name, &DTypeInfo::name);
  return found == kDTypes.end() ? std::nullopt : std::optional(found->dtype);
}

/// Whether a word of a signature is the name of an attribute.
inline bool names_attr(std::string_view word) { return word != "any" && word != "resource" && !dtype_called(word); }

}  // namespace trainhook::detail
