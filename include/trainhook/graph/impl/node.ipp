// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of node.hpp.
#pragma once

#include <trainhook/graph/node.hpp>

#include <utility>

#include <fmt/format.h>

namespace trainhook::detail {

TRAINHOOK_DECL Node& node_of(Node* node, std::string_view kind) {
  if (node != nullptr) return *node;
  throw FailedPreconditionError(
      "an empty {} refers to no node; check has_value() if it may be empty, as a gradient may", kind);
}

}  // namespace trainhook::detail

namespace trainhook {

TRAINHOOK_DECL Attrs::Attrs() = default;
TRAINHOOK_DECL Attrs::Attrs(std::initializer_list<value_type> entries) : map(entries) {}
TRAINHOOK_DECL Attrs::Attrs(const Attrs& other) = default;
TRAINHOOK_DECL Attrs::Attrs(Attrs&& other) noexcept = default;
TRAINHOOK_DECL Attrs& Attrs::operator=(const Attrs& other) = default;
TRAINHOOK_DECL Attrs& Attrs::operator=(Attrs&& other) noexcept = default;
TRAINHOOK_DECL Attrs::~Attrs() = default;

TRAINHOOK_DECL Node& Operation::node() const { return detail::node_of(node_, "Operation"); }

TRAINHOOK_DECL Node& Output::node() const { return detail::node_of(node_, "Output"); }

TRAINHOOK_DECL Node::Node(Graph& graph, std::size_t id, NodeSpec spec)
    : graph_(&graph), id_(id), spec_(std::move(spec)) {}

TRAINHOOK_DECL bool Node::has_attr(std::string_view key) const noexcept {
  return spec_.attrs.find(key) != spec_.attrs.end();
}

TRAINHOOK_DECL Operation::Operation(const Output& output) noexcept : Operation(output.operation()) {}

TRAINHOOK_DECL const std::string& Operation::name() const { return node().name(); }

TRAINHOOK_DECL const std::string& Operation::type() const { return node().type(); }

TRAINHOOK_DECL Graph& Operation::graph() const { return node().graph(); }

TRAINHOOK_DECL Output Operation::output(std::size_t index) const {
  if (index >= node().outputs().size()) {
    throw InvalidArgumentError("operation {} ({}) has {} outputs, no output {}", name(), type(),
                               node().outputs().size(), index);
  }
  return Output(node_, index);
}

TRAINHOOK_DECL Graph& Output::graph() const { return node().graph(); }

TRAINHOOK_DECL DType Output::dtype() const { return node().outputs()[index_].dtype; }

TRAINHOOK_DECL const PartialShape& Output::shape() const { return node().outputs()[index_].shape; }

TRAINHOOK_DECL std::string Output::name() const { return fmt::format("{}:{}", node().name(), index_); }

TRAINHOOK_DECL std::string Output::to_string() const {
  return has_value() ? fmt::format("'{}' {}{}", name(), dtype(), shape()) : "an empty output";
}

}  // namespace trainhook

namespace trainhook::detail {

TRAINHOOK_DECL std::string input_name(const Output& output) {
  return output.index() == 0 ? output.node().name() : output.name();
}

}  // namespace trainhook::detail
