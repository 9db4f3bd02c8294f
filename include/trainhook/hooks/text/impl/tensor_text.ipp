// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/hooks/text/tensor_text.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include <trainhook/core/finite.hpp>
#include <trainhook/core/real_numbers.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/core/utf8.hpp>

namespace trainhook::detail {

// --- Numbers -------------------------------------------------------------------------------------------------------

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

inline constexpr std::size_t kNumpyThreshold = 1'000;  // elements that an array shows; a larger one is summarized
inline constexpr std::int64_t kNumpyEdge = 3;          // along each dimension of a summarized array, at both ends
inline constexpr std::size_t kNumpyLineWidth = 75;

// --- Elements ------------------------------------------------------------------------------------------------------

/// `b'...'`, as Python writes bytes.
inline std::string bytes_text(std::string_view bytes) {
  const char quote =
      bytes.find('\'') != std::string_view::npos && bytes.find('"') == std::string_view::npos ? '"' : '\'';
  std::string text{'b', quote};
  for (const char c : bytes) {
    const auto code = static_cast<unsigned char>(c);
    if (c == quote || c == '\\') {
      text.append({'\\', c});
    } else if (c == '\n' || c == '\r' || c == '\t') {
      text.append({'\\', c == '\n' ? 'n' : c == '\r' ? 'r' : 't'});
    } else if (code < 0x20 || code >= 0x7f) {
      text += fmt::format("\\x{:02x}", code);
    } else {
      text += c;
    }
  }
  return text += quote;
}

inline std::string complex_text(const NumpyNumber& real, const NumpyNumber& imaginary) {
  const std::string j = numpy_scalar(imaginary, "") + "j";
  if (real.shortest.starts_with("0")) return j;
  return fmt::format("({}{}{})", numpy_scalar(real, ""), j[0] == '-' ? "" : "+", j);
}

/// Which elements are shown, and whether they are the array's or that of a scalar.
struct ShownElements {
  const Tensor& tensor;
  std::vector<std::size_t> indices;

  [[nodiscard]] bool is_scalar() const { return tensor.shape().rank() == 0; }

  template <class T>
  [[nodiscard]] std::vector<std::string> numbers() const {
    std::vector<NumpyNumber> found;
    for (const std::size_t i : indices) found.emplace_back(tensor.data<T>()[i]);
    if (is_scalar()) return {numpy_scalar(found[0])};
    return numpy_column(found);
  }

  template <class T>
  [[nodiscard]] std::vector<std::string> complex_numbers() const {
    std::vector<NumpyNumber> real, imaginary;
    for (const std::size_t i : indices) {
      real.emplace_back(tensor.data<std::complex<T>>()[i].real());
      imaginary.emplace_back(tensor.data<std::complex<T>>()[i].imag());
    }
    if (is_scalar()) return {complex_text(real[0], imaginary[0])};
    std::vector<std::string> texts = numpy_column(real);
    const std::vector<std::string> rest = numpy_column(imaginary, true);
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const std::size_t end = rest[i].find_last_not_of(' ') + 1;
      texts[i] += rest[i].substr(0, end) + "j" + rest[i].substr(end);
    }
    return texts;
  }

  template <class T>
  [[nodiscard]] std::vector<std::string> integers() const {
    std::vector<std::string> texts;
    std::size_t width = 0;
    for (const std::size_t i : indices)
      width = (std::max)(width, texts.emplace_back(fmt::format("{}", tensor.data<T>()[i])).size());
    for (std::string& text : texts) text.insert(0, width - text.size(), ' ');
    return texts;
  }

  [[nodiscard]] std::vector<std::string> strings() const {
    std::vector<std::string> texts;
    for (const std::size_t i : indices) texts.push_back(bytes_text(tensor.data<std::string>()[i]));
    return texts;
  }

  [[nodiscard]] std::vector<std::string> truths() const {
    std::vector<std::string> texts;
    for (const std::size_t i : indices)
      texts.emplace_back(!tensor.data<bool>()[i] ? "False" : is_scalar() ? "True" : " True");
    return texts;
  }

  [[nodiscard]] std::vector<std::string> texts() const {
    switch (tensor.dtype()) {
      case DType::String: return strings();
      case DType::Complex64: return complex_numbers<float>();
      case DType::Complex128: return complex_numbers<double>();
      default: break;
    }
    return visit_real(tensor, [this]<class T>(std::span<const T> /*elements*/) {
      if constexpr (std::is_same_v<T, bool>) {
        return truths();
      } else if constexpr (std::is_integral_v<T>) {
        return integers<T>();
      } else {
        return numbers<T>();
      }
    });
  }
};

// --- Arrays --------------------------------------------------------------------------------------------------------

/// Puts the texts of the elements that an array shows into brackets and lines.
class NumpyLayout {
 public:
  NumpyLayout(std::span<const std::int64_t> dims, bool is_summarized) : dims_(dims), is_summarized_(is_summarized) {}

  /// The indices of the elements that are shown.
  [[nodiscard]] std::vector<std::size_t> shown() const {
    std::vector<std::size_t> indices;
    add_shown(indices, 0, 0);
    return indices;
  }

  [[nodiscard]] std::string text(std::span<const std::string> elements) const { return text(elements, 0); }

 private:
  [[nodiscard]] bool skips(std::size_t axis) const { return is_summarized_ && dims_[axis] > 2 * kNumpyEdge; }

  inline void add_shown(std::vector<std::size_t>& indices, std::size_t axis, std::int64_t index) const;

  // Takes the texts that it uses off the front of `elements`.
  inline std::string text(std::span<const std::string>& elements, std::size_t axis) const;
  inline std::string row(std::span<const std::string>& elements, std::size_t axis) const;

  std::span<const std::int64_t> dims_;
  bool is_summarized_;
};

void NumpyLayout::add_shown(std::vector<std::size_t>& indices, std::size_t axis, std::int64_t index) const {
  if (axis == dims_.size()) return indices.push_back(static_cast<std::size_t>(index));
  for (std::int64_t i = 0; i < dims_[axis]; ++i) {
    if (skips(axis) && i == kNumpyEdge) i = dims_[axis] - kNumpyEdge;
    add_shown(indices, axis + 1, index * dims_[axis] + i);
  }
}

std::string NumpyLayout::text(std::span<const std::string>& elements, std::size_t axis) const {
  if (axis + 1 == dims_.size()) return row(elements, axis);
  const std::string next = std::string(dims_.size() - axis - 1, '\n') + std::string(axis + 1, ' ');
  const std::int64_t parts = skips(axis) ? 2 * kNumpyEdge : dims_[axis];
  std::string lines = "[";
  for (std::int64_t i = 0; i < parts; ++i) {
    if (i > 0) lines += next;
    if (skips(axis) && i == kNumpyEdge) lines += "..." + next;
    lines += text(elements, axis + 1);
  }
  return lines += ']';
}

std::string NumpyLayout::row(std::span<const std::string>& elements, std::size_t axis) const {
  const std::string indent(axis + 1, ' ');
  const std::size_t width = kNumpyLineWidth - dims_.size();  // the brackets that may follow
  const std::int64_t parts = skips(axis) ? 2 * kNumpyEdge : dims_[axis];
  std::string lines;
  std::string line = indent;
  const auto add = [&](std::string_view word) {
    if (line.size() > indent.size() && line.size() + word.size() > width) {
      line.resize(line.find_last_not_of(' ') + 1);
      lines += std::exchange(line, indent) + "\n";
    }
    line.append(word).append(1, ' ');
  };
  for (std::int64_t i = 0; i < parts; ++i) {
    if (skips(axis) && i == kNumpyEdge) add("...");
    add(elements.front());
    elements = elements.subspan(1);
  }
  line.pop_back();  // the separator
  lines += line;
  return "[" + lines.substr(indent.size()) + "]";
}

std::string numpy_text(const Tensor& tensor) {
  if (tensor.dtype() == DType::Invalid) return "none";
  if (tensor.num_elements() == 0) return "[]";
  const NumpyLayout layout(tensor.shape().dims(), static_cast<std::size_t>(tensor.num_elements()) > kNumpyThreshold);
  const std::vector<std::string> texts = ShownElements{tensor, layout.shown()}.texts();
  return tensor.shape().rank() == 0 ? texts[0] : layout.text(texts);
}

// --- Lines ---------------------------------------------------------------------------------------------------------

/// Elements that a line shows; of a longer tensor the first ones are followed by `...`.
inline constexpr std::size_t kFirstElementsInText = 32;

/// Numbers as NumPy prints scalars; NumPy has no bfloat16.
template <class T>
void append_text_element(std::string& text, const T& value) {
  if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>) {
    const std::string imaginary = numpy_scalar(NumpyNumber(value.imag()));
    text += fmt::format("{}{}{}j", numpy_scalar(NumpyNumber(value.real())), imaginary[0] == '-' ? "" : "+", imaginary);
  } else if constexpr (std::is_same_v<T, std::string>) {
    text.append(1, '\'').append(value).append(1, '\'');
  } else if constexpr (std::is_floating_point_v<T> || StoredFloat<T>) {
    text += numpy_scalar(NumpyNumber(value));
  } else {
    text += fmt::format("{}", value);
  }
}

template <class T>
void append_text_elements(std::string& text, std::span<const T> elements, std::span<const std::int64_t> dims,
                          std::size_t& room) {
  if (dims.empty()) {
    append_text_element(text, elements[0]);
    --room;
    return;
  }
  const auto count = static_cast<std::size_t>(dims[0]);
  const std::size_t stride = count == 0 ? 0 : elements.size() / count;
  text += '[';
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) text += ' ';
    if (room == 0) {
      text += "...";
      break;
    }
    append_text_elements(text, elements.subspan(i * stride, stride), dims.subspan(1), room);
  }
  text += ']';
}

std::string tensor_text(const Tensor& tensor) {
  const auto text_of = [&tensor](auto elements) {
    std::string text;
    std::size_t room = kFirstElementsInText;
    append_text_elements(text, elements, tensor.shape().dims(), room);
    return text;
  };
  switch (tensor.dtype()) {
    case DType::String: return text_of(tensor.data<std::string>());
    case DType::Complex64: return text_of(tensor.data<std::complex<float>>());
    case DType::Complex128: return text_of(tensor.data<std::complex<double>>());
    case DType::Invalid: return "none";
    default: return visit_real(tensor, text_of);
  }
}

std::string json_string(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string json = "\"";
  for (const char c : utf8_text(text, "a text in JSON")) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      json.append({'\\', c});
    } else if (code < 0x20) {
      json.append("\\u00").append({kHex[code >> 4], kHex[code & 15]});
    } else {
      json += c;
    }
  }
  return json += '"';
}

}  // namespace trainhook::detail
