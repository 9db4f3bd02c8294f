// SPDX-License-Identifier: Apache-2.0
/// @file
/// Node, and its handles Operation and Output.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/format.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/core/tensor.hpp>

namespace trainhook {

class Graph;
class Node;
class Output;
struct OpDef;

/// The value of a node's attribute: the kinds of TensorFlow's `AttrValue` that this library uses.
using AttrValue =
    std::variant<std::int64_t, float, bool, std::string, DType, PartialShape, Tensor, std::vector<std::int64_t>,
                 std::vector<float>, std::vector<std::string>, std::vector<DType>, std::vector<PartialShape>>;

/// The attributes of a node by name: a map whose special members are compiled once instead of in every file that builds
/// a graph.
class Attrs : public std::map<std::string, AttrValue, std::less<>> {
 public:
  TRAINHOOK_DECL Attrs();
  TRAINHOOK_DECL Attrs(std::initializer_list<value_type> entries);
  TRAINHOOK_DECL Attrs(const Attrs& other);
  TRAINHOOK_DECL Attrs(Attrs&& other) noexcept;
  TRAINHOOK_DECL Attrs& operator=(const Attrs& other);
  TRAINHOOK_DECL Attrs& operator=(Attrs&& other) noexcept;
  TRAINHOOK_DECL ~Attrs();
};

namespace detail {

TRAINHOOK_DECL Node& node_of(Node* node, std::string_view kind);

}  // namespace detail

/// A handle of a node as an operation. Valid as long as its graph. A default-constructed handle is empty; its members
/// throw FailedPreconditionError.
class Operation {
 public:
  constexpr Operation() noexcept = default;
  constexpr explicit Operation(Node* node) noexcept : node_(node) {}
  TRAINHOOK_DECL Operation(const Output& output) noexcept;  ///< the operation that computes the output

  [[nodiscard]] constexpr bool has_value() const noexcept { return node_ != nullptr; }
  [[nodiscard]] TRAINHOOK_DECL Node& node() const;
  [[nodiscard]] TRAINHOOK_DECL const std::string& name() const;
  [[nodiscard]] TRAINHOOK_DECL const std::string& type() const;
  [[nodiscard]] TRAINHOOK_DECL Graph& graph() const;

  /// Output `index` of the node. @throws InvalidArgumentError if there is no such output.
  [[nodiscard]] TRAINHOOK_DECL Output output(std::size_t index = 0) const;
  friend bool operator==(Operation, Operation) noexcept = default;

 private:
  Node* node_ = nullptr;
};

/// A handle of one result of a node, `name:index`. Valid as long as its graph. A default-constructed handle is empty;
/// its members throw FailedPreconditionError.
class Output {
 public:
  constexpr Output() noexcept = default;
  constexpr Output(Node* node, std::size_t index) noexcept : node_(node), index_(static_cast<std::uint32_t>(index)) {}

  [[nodiscard]] constexpr bool has_value() const noexcept { return node_ != nullptr; }
  [[nodiscard]] TRAINHOOK_DECL Node& node() const;
  [[nodiscard]] Operation operation() const noexcept { return Operation(node_); }
  [[nodiscard]] std::size_t index() const noexcept { return index_; }
  [[nodiscard]] TRAINHOOK_DECL Graph& graph() const;
  [[nodiscard]] TRAINHOOK_DECL DType dtype() const;
  [[nodiscard]] TRAINHOOK_DECL const PartialShape& shape() const;

  /// TensorFlow's tensor name, `dense/MatMul:0`.
  [[nodiscard]] TRAINHOOK_DECL std::string name() const;

  /// Name, dtype and shape for messages: `'dense/MatMul:0' float32[784,128]`.
  [[nodiscard]] TRAINHOOK_DECL std::string to_string() const;

  /// The same value under another name: adds an Identity node.
  [[nodiscard]] TRAINHOOK_DECL Output named(std::string_view name) const;
  friend bool operator==(Output, Output) noexcept = default;

 private:
  Node* node_ = nullptr;
  std::uint32_t index_ = 0;
};

/// The dtype of one result of a node, and its shape as far as it is known.
struct OutputSpec {
  DType dtype = DType::Invalid;
  PartialShape shape{};
};

/// The description of a node to add to a graph. An empty name means the op type, made unique.
struct NodeSpec {
  std::string type{};
  std::string name{};
  std::vector<Output> inputs{};
  std::vector<Operation> control_inputs{};
  Attrs attrs{};
  std::vector<OutputSpec> outputs{};
};

/// One node of a graph: an op type applied to inputs. `Graph::add` creates it and the graph owns it, at a stable
/// address.
class Node {
 public:
  TRAINHOOK_DECL Node(Graph& graph, std::size_t id, NodeSpec spec, const OpDef* op_def);

  [[nodiscard]] Graph& graph() const noexcept { return *graph_; }

  /// The position in the order of creation; inputs have lower ids.
  [[nodiscard]] std::size_t id() const noexcept { return id_; }
  [[nodiscard]] const std::string& name() const noexcept { return spec_.name; }
  [[nodiscard]] const std::string& type() const noexcept { return spec_.type; }

  /// The definition with which the node was added; null if it was added without one.
  [[nodiscard]] const OpDef* op_def() const noexcept { return op_def_; }
  [[nodiscard]] std::span<const Output> inputs() const noexcept { return spec_.inputs; }
  [[nodiscard]] std::span<const Operation> control_inputs() const noexcept { return spec_.control_inputs; }
  [[nodiscard]] const Attrs& attrs() const noexcept { return spec_.attrs; }
  [[nodiscard]] std::span<const OutputSpec> outputs() const noexcept { return spec_.outputs; }

  [[nodiscard]] TRAINHOOK_DECL bool has_attr(std::string_view key) const noexcept;

  /// An attribute as type `T`, which must be an alternative of `AttrValue`.
  /// @throws NotFoundError if the node has no attribute of that name, InvalidArgumentError if it is of another type.
  template <class T>
  [[nodiscard]] const T& attr(std::string_view key) const {
    const auto found = spec_.attrs.find(key);
    if (found == spec_.attrs.end()) throw NotFoundError("node {} ({}) has no attribute {}", name(), type(), key);
    if (const T* value = std::get_if<T>(&found->second)) return *value;
    throw InvalidArgumentError("attribute {} of node {} ({}) is of another type", key, name(), type());
  }

 private:
  Graph* graph_;
  std::size_t id_;
  NodeSpec spec_;
  const OpDef* op_def_;
};

namespace detail {

/// The name of an output as an input in a GraphDef: `node` for output 0, `node:k` for output k.
[[nodiscard]] TRAINHOOK_DECL std::string input_name(const Output& output);

}  // namespace detail

}  // namespace trainhook

template <>
struct fmt::formatter<trainhook::Output> : trainhook::detail::ToStringFormatter<trainhook::Output> {};

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/graph/impl/node.ipp>
#endif
