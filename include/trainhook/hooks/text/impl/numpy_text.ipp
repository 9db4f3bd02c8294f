// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/hooks/text/numpy_text.hpp>

#include <algorithm>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/real_numbers.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/hooks/text/numpy_number.hpp>

namespace trainhook::detail {

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

}  // namespace trainhook::detail
