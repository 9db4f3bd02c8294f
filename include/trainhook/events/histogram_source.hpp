// SPDX-License-Identifier: Apache-2.0
/// @file
/// HistogramSource: the numbers that a histogram counts, from spans and tensors of any number type.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <type_traits>

#include <trainhook/core/linkage.hpp>
#include <trainhook/core/real_numbers.hpp>
#include <trainhook/core/tensor.hpp>

namespace trainhook {

/// A number type that a histogram can count.
template <class T>
concept HistogramElement = (std::is_arithmetic_v<T> && !std::is_same_v<T, long double>) || detail::StoredFloat<T>;

namespace detail {

/// A view of numbers of any type, as doubles.
struct HistogramSource {
  const void* values = nullptr;
  std::size_t count = 0;
  void (*widen)(const void* values, std::size_t first, std::span<double> to) = nullptr;
};

template <HistogramElement T>
[[nodiscard]] HistogramSource histogram_source(std::span<const T> values) {
  return {values.data(), values.size(), [](const void* from, std::size_t first, std::span<double> to) {
            const T* const next = static_cast<const T*>(from) + first;
            for (std::size_t i = 0; i < to.size(); ++i) to[i] = real_as<double>(next[i]);
          }};
}

/// The elements of a tensor, which outlives the result. @throws InvalidArgumentError, naming `tag`, if they are not
/// real numbers.
[[nodiscard]] TRAINHOOK_DECL HistogramSource histogram_source(std::string_view tag, const Tensor& tensor);

/// The first element of a tensor of real numbers. @throws as `histogram_source`.
[[nodiscard]] TRAINHOOK_DECL float first_as_float(std::string_view tag, const Tensor& tensor);

/// Calls `action` with the values as spans of doubles, a few hundred at a time.
template <class Action>
void for_each_chunk(const HistogramSource& source, const Action& action) {
  std::array<double, 512> chunk;
  for (std::size_t first = 0; first < source.count; first += chunk.size()) {
    const std::size_t rest = source.count - first;
    const std::span<double> values = std::span(chunk).first(rest < chunk.size() ? rest : chunk.size());
    source.widen(source.values, first, values);
    action(std::span<const double>(values));
  }
}

}  // namespace detail
}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/events/impl/histogram_source.ipp>
#endif
