// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/graph/node.hpp>

#include <utility>

#include <fmt/format.h>

namespace trainhook::detail {

Node& node_of(Node* node, std::string_view kind) {
  if (node != nullptr) return *node;
  throw FailedPreconditionError(
      "an empty {} refers to no node; check has_value() if it may be empty, as a gradient may", kind);
}

}  // namespace trainhook::detail

namespace trainhook {

Attrs::Attrs() = default;
Attrs::Attrs(std::initializer_list<value_type> entries) : map(entries) {}
Attrs::Attrs(const Attrs& other) = default;
Attrs::Attrs(Attrs&& other) noexcept = default;
Attrs& Attrs::operator=(const Attrs& other) = default;
Attrs& Attrs::operator=(Attrs&& other) noexcept = default;
Attrs::~Attrs() = default;

Node& Operation::node() const { return detail::node_of(node_, "Operation"); }

Node& Output::node() const { return detail::node_of(node_, "Output"); }

Node::Node(Graph& graph, std::size_t id, NodeSpec spec, const OpDef* op_def)
    : graph_(&graph), id_(id), spec_(std::move(spec)), op_def_(op_def) {}

bool Node::has_attr(std::string_view key) const noexcept { return spec_.attrs.find(key) != spec_.attrs.end(); }

Operation::Operation(const Output& output) noexcept : Operation(output.operation()) {}

const std::string& Operation::name() const { return node().name(); }

const std::string& Operation::type() const { return node().type(); }

Graph& Operation::graph() const { return node().graph(); }

Output Operation::output(std::size_t index) const {
  const std::size_t count = node().outputs().size();
  if (index >= count && node().op_def() == nullptr) {
    throw InvalidArgumentError("operation {} ({}) was added without its op type's definition, and without output {}",
                               name(), type(), index);
  }
  if (index >= count) {
    throw InvalidArgumentError("operation {} ({}) has {} output{}, no output {}", name(), type(), count,
                               count == 1 ? "" : "s", index);
  }
  return Output(node_, index);
}

Graph& Output::graph() const { return node().graph(); }

DType Output::dtype() const { return node().outputs()[index_].dtype; }

const PartialShape& Output::shape() const { return node().outputs()[index_].shape; }

std::string Output::name() const { return fmt::format("{}:{}", node().name(), index_); }

std::string Output::to_string() const {
  return has_value() ? fmt::format("'{}' {}{}", name(), dtype(), shape()) : "an empty output";
}

}  // namespace trainhook

namespace trainhook::detail {

std::string input_name(const Output& output) { return output.index() == 0 ? output.node().name() : output.name(); }

}  // namespace trainhook::detail
