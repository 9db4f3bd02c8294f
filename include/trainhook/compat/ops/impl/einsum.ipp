// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/compat/ops/einsum.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include <fmt/format.h>

#include <trainhook/core/error.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/graph/gradient_context.hpp>
#include <trainhook/graph/op_builder.hpp>
#include <trainhook/graph/ops/shape_rules.hpp>

namespace trainhook::detail {

EinsumEquation::EinsumEquation(std::string_view text) {
  const std::size_t arrow = text.find("->");
  if (arrow == std::string_view::npos) throw InvalidArgumentError("the equation '{}' has no ->", text);
  output = text.substr(arrow + 2);
  std::string_view left = text.substr(0, arrow);
  for (std::size_t comma = left.find(','); comma != std::string_view::npos; comma = left.find(',')) {
    inputs.emplace_back(left.substr(0, comma));
    left.remove_prefix(comma + 1);
  }
  inputs.emplace_back(left);
  has_ellipsis = text.find("...") != std::string_view::npos;
  if (has_ellipsis) return;
  const auto is_label = [](unsigned char c) { return std::isalpha(c) != 0; };
  bool fits = std::ranges::all_of(output, is_label) && inputs.size() <= 2;
  for (const std::string& labels : inputs) fits = fits && std::ranges::all_of(labels, is_label);
  for (const char label : output) {
    fits = fits &&
           std::ranges::any_of(inputs, [&](const std::string& labels) { return labels.find(label) != labels.npos; });
  }
  if (!fits)
    throw InvalidArgumentError("the equation '{}' is none of one or two inputs with letters for dimensions", text);
}

inline PartialShape einsum_shape(const NodeSpec& node, std::size_t) {
  const EinsumEquation equation(attr_of<std::string>(node, "equation"));
  if (equation.inputs.size() != node.inputs.size())
    throw InvalidArgumentError("{}: the equation has {} inputs, the node {}", label(node), equation.inputs.size(),
                               node.inputs.size());
  if (equation.has_ellipsis) return {};
  std::map<char, std::int64_t> dims;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const PartialShape& shape = node.inputs[i].shape();
    const std::string& labels = equation.inputs[i];
    if (shape.has_rank()) require_rank(label(node), node.inputs[i], labels.size());
    for (std::size_t k = 0; k < labels.size(); ++k) {
      const std::int64_t dim = shape.has_rank() ? shape[k] : kUnknownDim;
      const auto [entry, is_new] = dims.emplace(labels[k], dim);
      if (!may_equal(entry->second, dim))
        throw InvalidArgumentError("{}: '{}' is both {} and {}", label(node), labels[k], entry->second, dim);
      if (entry->second == kUnknownDim) entry->second = dim;
    }
  }
  Dims result;
  for (const char letter : equation.output) result.push_back(dims.at(letter));
  return shape_of(result);
}

inline Grads einsum_grad(const GradientContext& c) {
  const EinsumEquation equation(c.node().attr<std::string>("equation"));
  Grads result(c.input_count());
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (!c.needs(i)) continue;
    const std::string& labels = equation.inputs[i];
    const std::string other = result.size() == 2 ? equation.inputs[1 - i] : std::string();
    bool fits = !equation.has_ellipsis;
    for (const char letter : labels)
      fits = fits && std::ranges::count(labels, letter) == 1 &&
             (equation.output + other).find(letter) != std::string::npos;
    if (!fits) {
      throw UnimplementedError("the gradient of {} (Einsum) needs each label of '{}' once, and again in '{}' or '{}'",
                               c.node().name(), labels, equation.output, other);
    }
    std::vector<Output> inputs{c.grad()};
    if (result.size() == 2) inputs.push_back(c.input(1 - i));
    std::string text = equation.output + (result.size() == 2 ? fmt::format(",{}", other) : "");
    result[i] = add_op(*c.node().op_def(), {}, std::move(inputs), {{"equation", fmt::format("{}->{}", text, labels)}});
  }
  return result;
}

inline constexpr OpDef kEinsumOp{"Einsum", "N*T -> T", "N:int>0 equation:string", einsum_shape, einsum_grad};

inline constexpr std::array kEinsumOps{&kEinsumOp};

OpFamily einsum_ops() noexcept { return kEinsumOps; }

}  // namespace trainhook::detail
