// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/hooks/csv_logger_hook.hpp>

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

namespace trainhook::detail {

/// A field, in quotes if it needs them.
inline std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) quoted.append(c == '"' ? 2 : 1, c);
  return quoted += '"';
}

inline std::string csv_line(std::string line, const std::vector<std::string>& fields) {
  for (const std::string& field : fields) (line += ',') += field;
  return line += '\n';
}

/// Ends at the first line end outside of quotes.
inline RowRecord csv_record(std::string_view text) {
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') quoted = !quoted;
    if (text[i] != '\n' || quoted) continue;
    RowRecord record{.length = i + 1};
    std::int64_t step = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + i, step);
    if (error == std::errc() && *end == ',') record.step = step;
    return record;
  }
  return {};
}

inline constexpr RowFormat kCsvFormat{
    .hook = "CsvLoggerHook",
    .header =
        [](const std::vector<std::string>& columns) {
          std::vector<std::string> fields;
          for (const std::string& column : columns) fields.push_back(csv_field(column));
          return csv_line("step", fields);
        },
    .line = [](const std::vector<std::string>& /*columns*/, std::int64_t step,
               const std::vector<std::string>& cells) { return csv_line(fmt::format("{}", step), cells); },
    .text = csv_field,
    .non_finite = [](double value) { return std::string(non_finite_text(value)); },
    .record = csv_record};

}  // namespace trainhook::detail

namespace trainhook {

CsvLoggerHook::CsvLoggerHook(FetchRefs values, Options options)
    : RowLoggerHook(detail::kCsvFormat, std::move(values), std::move(options)) {}

CsvLoggerHook::CsvLoggerHook(CsvLoggerHook&& other) noexcept = default;

CsvLoggerHook::~CsvLoggerHook() = default;

}  // namespace trainhook
