// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/hooks/text/numpy_number.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include <fmt/format.h>

#include <trainhook/core/finite.hpp>

namespace trainhook::detail {

inline constexpr std::size_t kNumpyPrecision = 8;     // digits after the point, in arrays
inline constexpr double kNumpyLeastExponent = 1e8;    // an array with such a number shows exponents
inline constexpr double kNumpyScalarExponent = 1e16;  // so does such a scalar, or one below 1e-4

template <class T>
std::string shortest_digits(T number) {
  if (!is_finite(number)) return {};
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number, std::chars_format::scientific).ptr;
  return {text.data(), end};
}

/// Whether rounding to a half gives this one. Halfway between two of them, that is the one with the even bits.
inline bool reads_back(Half half, double decimal) {
  const auto size_of = [](int bits) { return (std::abs)(double{to_float(Half{static_cast<std::uint16_t>(bits)})}); };
  if (size_of(half.bits) == 0) return decimal == 0;
  const double own = size_of(half.bits);  // of one sign, bits grow with the size
  const double below = size_of(half.bits - 1);
  const double above = is_finite(size_of(half.bits + 1)) ? size_of(half.bits + 1) : own + (own - below);
  const double low = (below + own) / 2;
  const double high = (own + above) / 2;
  const double size = (std::abs)(decimal);
  return (size > low && size < high) || (half.bits % 2 == 0 && (size == low || size == high));
}

NumpyNumber::NumpyNumber(float number) : value(static_cast<double>(number)), shortest(shortest_digits(number)) {}

NumpyNumber::NumpyNumber(double number) : value(number), shortest(shortest_digits(number)) {}

NumpyNumber::NumpyNumber(Half number) : value(static_cast<double>(to_float(number))) {
  if (!is_finite(value)) return;
  for (int digits = 0; digits <= 4; ++digits) {
    for (const double candidate : {value, std::nextafter(value, 2 * value)}) {  // if the decimal below is too far away
      shortest = fmt::format("{:.{}e}", candidate, digits);
      double decimal = 0;
      std::from_chars(shortest.data(), shortest.data() + shortest.size(), decimal);
      if (reads_back(number, decimal)) return;
    }
  }
}

/// A number in decimal: `-12`, `5` and an empty exponent for -12.5; `1`, `25` and `+08` for 1.25e8.
struct NumberText {
  std::string whole{};
  std::string fraction{};
  std::string exponent{};
};

inline NumberText split_number(std::string_view text) {
  NumberText number;
  if (const std::size_t e = text.find('e'); e != std::string_view::npos) {
    number.exponent = text.substr(e + 1);
    text = text.substr(0, e);
  }
  const std::size_t point = (std::min)(text.find('.'), text.size());
  number.whole = text.substr(0, point);
  if (point < text.size()) number.fraction = text.substr(point + 1);
  number.fraction.resize(number.fraction.find_last_not_of('0') + 1);
  return number;
}

/// Moves the point of `1.25e+08` to where it is without an exponent.
inline NumberText without_exponent(NumberText number) {
  int exponent = 0;
  const std::size_t digits = number.exponent[0] == '+' ? 1 : 0;  // from_chars takes no plus sign
  std::from_chars(number.exponent.data() + digits, number.exponent.data() + number.exponent.size(), exponent);
  number.exponent.clear();
  if (exponent >= 0) {
    const auto moved = static_cast<std::size_t>(exponent);
    if (number.fraction.size() < moved) number.fraction.resize(moved, '0');
    number.whole += number.fraction.substr(0, moved);
    number.fraction.erase(0, moved);
  } else {
    const bool is_negative = number.whole[0] == '-';
    number.fraction.insert(0, std::string(static_cast<std::size_t>(-exponent - 1), '0') + number.whole.back());
    number.whole = is_negative ? "-0" : "0";
  }
  return number;
}

/// The shortest digits, or at most `precision` after the point.
inline NumberText number_text(const NumpyNumber& number, bool has_exponent, std::size_t precision) {
  NumberText text = split_number(number.shortest);
  if (!has_exponent) text = without_exponent(text);
  if (text.fraction.size() <= precision) return text;
  return split_number(has_exponent ? fmt::format("{:.{}e}", number.value, precision)
                                   : fmt::format("{:.{}f}", number.value, precision));
}

inline std::string not_finite_text(double value, bool with_plus = false) {
  return fmt::format("{}{}", with_plus && (is_nan(value) || !is_negative(value)) ? "+" : "", non_finite_text(value));
}

std::string numpy_scalar(const NumpyNumber& number, std::string_view whole_ends_with) {
  const double size = (std::abs)(number.value);
  if (!is_finite(size)) return not_finite_text(number.value);
  const bool has_exponent = size >= kNumpyScalarExponent || (size < 1e-4 && size != 0);
  const NumberText text = number_text(number, has_exponent, std::string::npos);
  const std::string fraction = text.fraction.empty() ? "" : "." + text.fraction;
  if (has_exponent) return fmt::format("{}{}e{}", text.whole, fraction, text.exponent);
  return fmt::format("{}{}", text.whole, fraction.empty() ? whole_ends_with : fraction);
}

std::vector<std::string> numpy_column(std::span<const NumpyNumber> numbers, bool with_plus) {
  const auto has_digits = [](const NumpyNumber& number) { return is_finite(number.value); };
  const bool has_exponent = std::ranges::any_of(numbers, [&](const NumpyNumber& number) {
    return has_digits(number) && (std::abs)(number.value) >= kNumpyLeastExponent;
  });
  std::vector<NumberText> parts;
  std::size_t left = 0, right = 0, exponent = 0, others = 0;
  for (const NumpyNumber& number : numbers) {
    NumberText& part = parts.emplace_back();
    if (!has_digits(number)) {
      part.whole = not_finite_text(number.value, with_plus);
      others = (std::max)(others, part.whole.size());
      continue;
    }
    part = number_text(number, has_exponent, kNumpyPrecision);
    if (!has_exponent && part.fraction.empty()) part.whole = fmt::format("{:.0f}", number.value);  // all its digits
    if (with_plus && !std::signbit(number.value)) part.whole.insert(0, 1, '+');
    left = (std::max)(left, part.whole.size());
    right = (std::max)(right, part.fraction.size());
    exponent = (std::max)(exponent, part.exponent.size());
  }
  const std::size_t after = 1 + right + (has_exponent ? 1 + exponent : 0);
  left = (std::max)(left, (std::max)(others, after) - after);

  std::vector<std::string> texts;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const NumberText& part = parts[i];
    if (!has_digits(numbers[i])) {
      texts.push_back(fmt::format("{:>{}}", part.whole, left + after));
    } else if (has_exponent) {  // further digits are exact ones, not zeros
      const std::string digits = with_plus ? fmt::format("{:+#.{}e}", numbers[i].value, right)
                                           : fmt::format("{:#.{}e}", numbers[i].value, right);
      const std::size_t e = digits.find('e');
      texts.push_back(fmt::format("{:>{}}{}{:0>{}}", digits.substr(0, e), left + 1 + right, digits.substr(e, 2),
                                  digits.substr(e + 2), exponent - 1));
    } else {
      texts.push_back(fmt::format("{:>{}}.{:<{}}", part.whole, left, part.fraction, right));
    }
  }
  return texts;
}

}  // namespace trainhook::detail
