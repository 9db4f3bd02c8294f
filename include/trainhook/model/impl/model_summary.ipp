// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/model/model_summary.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_set>
#include <vector>

#include <fmt/format.h>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/graph/variable.hpp>

namespace trainhook::detail {

struct SummaryRow {
  std::string name{};
  std::string shape{};
  std::string count{};
  std::string_view dtype{};
};

/// A number with a space between each three digits.
inline std::string with_gaps(std::int64_t number) {
  std::string digits = fmt::format("{}", number);
  for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, 1, ' ');
  return digits;
}

/// The number of elements; 0 for a shape that is not fully known.
inline std::int64_t elements_of(const Variable& variable) {
  return variable.shape().is_fully_known() ? variable.shape().known().num_elements() : 0;
}

}  // namespace trainhook::detail

namespace trainhook {

std::string model_summary(const Graph& graph) {
  const std::vector<Variable> trained = trainable_variables(graph);
  std::vector<detail::SummaryRow> rows{{"variable", "shape", "elements", "dtype"}};
  std::int64_t total = 0;
  for (const Variable& variable : trained) {
    rows.push_back({variable.name(), fmt::format("{}", variable.shape()),
                    detail::with_gaps(detail::elements_of(variable)), dtype_name(variable.dtype())});
    total += detail::elements_of(variable);
  }
  rows.push_back({"total", "", detail::with_gaps(total), ""});
  const auto width = [&](std::string detail::SummaryRow::*column) {
    std::size_t longest = 0;
    for (const detail::SummaryRow& row : rows) longest = (std::max)(longest, (row.*column).size());
    return longest;
  };
  const std::size_t name = width(&detail::SummaryRow::name);
  const std::size_t shape = width(&detail::SummaryRow::shape);
  const std::size_t count = width(&detail::SummaryRow::count);
  std::string table;
  for (const detail::SummaryRow& row : rows) {
    std::string line =
        fmt::format("{:<{}}  {:<{}}  {:>{}}  {}", row.name, name, row.shape, shape, row.count, count, row.dtype);
    line.erase(line.find_last_not_of(' ') + 1);
    table += line + "\n";
  }
  std::unordered_set<const Node*> is_trained;
  for (const Variable& variable : trained) is_trained.insert(&variable.handle.node());
  std::size_t others = 0;
  std::int64_t elements = 0;
  for (const Variable& variable : global_variables(graph)) {
    if (is_trained.contains(&variable.handle.node())) continue;
    ++others;
    elements += detail::elements_of(variable);
  }
  if (others > 0) table += fmt::format("not trained: {} variables, {} elements\n", others, detail::with_gaps(elements));
  return table;
}

}  // namespace trainhook
