// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/hooks/json_lines_hook.hpp>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <trainhook/core/finite.hpp>
#include <trainhook/hooks/text/row_file.hpp>
#include <trainhook/hooks/text/tensor_text.hpp>

namespace trainhook::detail {

inline constexpr std::string_view kJsonStart = "{\"step\":";

inline RowRecord json_record(std::string_view text) {
  const std::size_t end_of_line = text.find('\n');
  if (end_of_line == std::string_view::npos) return {};
  RowRecord record{.length = end_of_line + 1};
  if (!text.starts_with(kJsonStart)) return record;
  std::int64_t step = 0;
  const auto [end, error] = std::from_chars(text.data() + kJsonStart.size(), text.data() + end_of_line, step);
  if (error == std::errc() && (*end == ',' || *end == '}')) record.step = step;
  return record;
}

inline constexpr RowFormat kJsonFormat{
    .hook = "JsonLinesHook",
    .start = kJsonStart,
    .header = nullptr,
    .line =
        [](const std::vector<std::string>& columns, std::int64_t step, const std::vector<std::string>& cells) {
          std::string line = fmt::format("{}{}", kJsonStart, step);
          for (std::size_t i = 0; i < cells.size(); ++i) {
            if (!cells[i].empty()) line += fmt::format(",{}:{}", json_string(columns[i]), cells[i]);
          }
          return line += "}\n";
        },
    .text = json_string,
    .non_finite =
        [](double value) {
          return std::string(is_nan(value) ? "\"NaN\"" : is_negative(value) ? "\"-Infinity\"" : "\"Infinity\"");
        },
    .record = json_record};

}  // namespace trainhook::detail

namespace trainhook {

JsonLinesHook::JsonLinesHook(FetchRefs values, Options options)
    : RowLoggerHook(detail::kJsonFormat, std::move(values), std::move(options)) {}

JsonLinesHook::JsonLinesHook(JsonLinesHook&& other) noexcept = default;

JsonLinesHook::~JsonLinesHook() = default;

}  // namespace trainhook
