// SPDX-License-Identifier: Apache-2.0
/// @file
/// What a command answers: facts, a table, notes; for people, with colour on a terminal, or as JSON.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/color.h>
#include <fmt/format.h>

#include <trainhook/core/log.hpp>
#include <trainhook/core/utf8.hpp>

/// A JSON string.
inline std::string json_string(std::string_view text) {
  std::string json = "\"";
  for (const char c : trainhook::detail::utf8_text(text, "a text in the answer")) {
    if (c == '"' || c == '\\') {
      json += {'\\', c};
    } else if (static_cast<unsigned char>(c) < 0x20) {
      json += fmt::format("\\u{:04x}", static_cast<int>(c));
    } else {
      json += c;
    }
  }
  return json + '"';
}

/// One value: as people read it, and as programs do.
struct Cell {
  std::string text{};
  std::string json = "null";
  bool is_number = false;

  Cell() = default;
  Cell(std::string_view value) : text(value), json(json_string(value)) {  // NOLINT(google-explicit-constructor)
    for (char& c : text) {
      if (static_cast<unsigned char>(c) < 0x20 || c == '\x7f') c = '?';  // a name from a file must not steer a terminal
    }
  }
  Cell(const std::string& value) : Cell(std::string_view(value)) {}  // NOLINT(google-explicit-constructor)
  Cell(const char* value) : Cell(std::string_view(value)) {}         // NOLINT(google-explicit-constructor)
  Cell(std::string for_people, std::string for_programs)
      : text(std::move(for_people)), json(std::move(for_programs)), is_number(true) {}
};

inline Cell count(std::int64_t value) { return {fmt::format("{}", value), fmt::format("{}", value)}; }
inline Cell truth(bool value) { return {value ? "yes" : "no", value ? "true" : "false"}; }

/// JSON has no NaN and no infinity: they are strings there.
inline Cell real(double value) {
  const std::string all_digits = fmt::format("{}", value);
  return {fmt::format("{:.6g}", value), std::isfinite(value) ? all_digits : json_string(all_digits)};
}

/// 1 tensor, 2 tensors.
inline std::string counted(std::size_t number, std::string_view what) {
  return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

/// 812 B, 12.3 kB, 4.0 MB.
inline Cell bytes(std::uint64_t value) {
  std::string text = fmt::format("{} B", value);
  double scaled = static_cast<double>(value);
  for (const char* unit : {"kB", "MB", "GB", "TB"}) {
    if (scaled < 999.95) break;
    scaled /= 1000;
    text = fmt::format("{:.1f} {}", scaled, unit);
  }
  return {text, fmt::format("{}", value)};
}

inline const fmt::text_style kGood = fmt::fg(fmt::terminal_color::green);
inline const fmt::text_style kBad = fmt::fg(fmt::terminal_color::red);

struct Report {
  struct Column {
    std::string title;
    std::string key;  // in JSON
  };
  struct Row {
    std::vector<Cell> cells{};
    fmt::text_style style{};
  };

  std::string heading{};                              // not in JSON
  std::vector<std::pair<std::string, Cell>> facts{};  // only in JSON
  std::string rows_key = "rows";
  std::vector<Column> columns{};
  std::vector<Row> rows{};
  std::vector<std::string> notes{};
};

/// The style, if the output is a terminal that shows it.
inline fmt::text_style in_colour(const fmt::text_style& style) {
  return trainhook::detail::takes_escapes(stdout) ? style : fmt::text_style();
}

inline void print_json(const Report& report) {
  fmt::print("{{");
  for (const auto& [key, value] : report.facts) fmt::print("{}: {}, ", json_string(key), value.json);
  fmt::print("{}: [", json_string(report.rows_key));
  for (std::size_t row = 0; row < report.rows.size(); ++row) {
    fmt::print("{}\n  {{", row == 0 ? "" : ",");
    for (std::size_t i = 0; i < report.columns.size(); ++i)
      fmt::print("{}{}: {}", i == 0 ? "" : ", ", json_string(report.columns[i].key), report.rows[row].cells[i].json);
    fmt::print("}}");
  }
  fmt::print("],\n\"notes\": [");
  for (std::size_t i = 0; i < report.notes.size(); ++i)
    fmt::print("{}{}", i == 0 ? "" : ", ", json_string(report.notes[i]));
  fmt::print("]}}\n");
}

/// Characters, not bytes: those that follow the first byte of a character take no room.
inline std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return (c & 0xc0) != 0x80; }));
}

/// A table whose columns are aligned: numbers to the right.
inline void print_rows(const std::vector<Report::Row>& rows) {
  std::vector<std::size_t> widths(rows.front().cells.size());
  std::vector<bool> is_number(widths.size());
  for (const Report::Row& row : rows) {
    for (std::size_t i = 0; i < widths.size(); ++i) {
      widths[i] = (std::max)(widths[i], width_of(row.cells[i].text));
      is_number[i] = is_number[i] || row.cells[i].is_number;
    }
  }
  for (const Report::Row& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      const std::string& text = row.cells[i].text;
      const std::string padding(widths[i] - width_of(text), ' ');
      line += (i == 0 ? "" : "  ") + (is_number[i] ? padding + text : text + padding);
    }
    line.resize(line.find_last_not_of(' ') + 1);
    fmt::print(in_colour(row.style), "{}", line);
    fmt::print("\n");
  }
}

inline void print_table(const Report& report) {
  fmt::print("{}\n", report.heading);
  if (!report.rows.empty()) {
    std::vector<Report::Row> rows = {{.cells = {}, .style = fmt::emphasis::bold}};
    for (const Report::Column& column : report.columns) rows.front().cells.emplace_back(column.title);
    rows.insert(rows.end(), report.rows.begin(), report.rows.end());
    print_rows(rows);
  }
  for (const std::string& note : report.notes) fmt::print("{}\n", Cell(note).text);
}

inline void print(const Report& report, bool as_json) { as_json ? print_json(report) : print_table(report); }
