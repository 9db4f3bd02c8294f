// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/compat/unknown_nodes.hpp>

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include <trainhook/compat/ops.hpp>
#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>

namespace trainhook::detail {

const OpDef* UnknownNodes::find_op(const NodeDef& node, std::span<const OpDef> extra) {
  const bool can_run = node.unheld_attrs.empty() && !node.attrs.contains(kCannotRun);
  return can_run ? find_op_def(node.op, extra) : nullptr;
}

UnknownNodes::UnknownNodes(const GraphDef& def, std::span<const OpDef> extra) : def_(&def) {
  for (const NodeDef& node : def.nodes) {
    if (find_op(node, extra) != nullptr) continue;
    nodes_.push_back(&node);
    dtypes_[node.name].resize((std::max<std::size_t>)(1, node.output_shapes.size()), DType::Invalid);
  }
  if (nodes_.empty()) return;
  for (const NodeDef& node : def.nodes) add_reader(node, find_op(node, extra));
}

void UnknownNodes::add_reader(const NodeDef& reader, const OpDef* op) {
  std::optional<std::vector<DType>> wanted;
  for (std::size_t i = 0; i < reader.inputs.size(); ++i) {
    constexpr std::size_t kMostOutputs = 1 << 16;
    const std::optional<InputName> input = parse_input_name(reader.inputs[i]);
    if (!input || input->is_control || input->index >= kMostOutputs) continue;
    const auto found = dtypes_.find(input->node);
    if (found == dtypes_.end()) continue;
    if (op != nullptr && !wanted) {
      try {
        wanted = input_dtypes({.type = reader.op, .name = reader.name, .attrs = reader.attrs}, *op);
      } catch (const Error&) { wanted.emplace(); }  // adding the reader says what is wrong with it
    }
    std::vector<DType>& dtypes = found->second;
    if (input->index >= dtypes.size()) dtypes.resize(input->index + 1, DType::Invalid);
    if (wanted && i < wanted->size() && dtypes[input->index] == DType::Invalid) dtypes[input->index] = (*wanted)[i];
  }
}

std::vector<OutputSpec> UnknownNodes::outputs(const NodeDef& node) const {
  const std::vector<DType>& dtypes = dtypes_.at(node.name);
  std::vector<OutputSpec> result;
  for (std::size_t i = 0; i < dtypes.size(); ++i)
    result.push_back({dtypes[i], i < node.output_shapes.size() ? node.output_shapes[i] : PartialShape()});
  return result;
}

void UnknownNodes::log() const {
  constexpr std::size_t kMostNamed = 5;
  if (nodes_.empty()) return;
  std::vector<std::string_view> types;
  std::string named;
  for (const NodeDef* node : nodes_) {
    if (std::ranges::find(types, node->op) != types.end()) continue;
    types.push_back(node->op);
    if (types.size() <= kMostNamed)
      named += fmt::format("{}{} ('{}')", types.size() > 1 ? ", " : "", node->op, node->name);
  }
  if (types.size() > kMostNamed) named += fmt::format(" and {} more", types.size() - kMostNamed);
  log_warning(
      "{}: {} of {} nodes cannot run, their op types or dtypes are not known here: {}. A run that needs one is "
      "an error",
      def_->source, nodes_.size(), def_->nodes.size(), named);
}

}  // namespace trainhook::detail
