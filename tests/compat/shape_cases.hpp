// SPDX-License-Identifier: Apache-2.0
/// @file
/// Nodes of every op type with inputs that fit and inputs that do not, each as a builder adds it and as a GraphDef has
/// it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <trainhook/compat/graph_def_reader.hpp>
#include <trainhook/compat/import_graph_def.hpp>
#include <trainhook/compat/ops.hpp>
#include <trainhook/model/graph_def/graph_def_writer.hpp>
#include <trainhook/model/graph_def/node_def.hpp>
#include <trainhook/model.hpp>
#include <trainhook/trainhook.hpp>

namespace shape_cases {

namespace th = trainhook;

using Dims = std::vector<std::int64_t>;
using Inputs = std::vector<th::Output>;

/// A node that gives an input: a placeholder, a constant, a variable or a queue.
struct In {
  std::string type{};
  th::Attrs attrs{};
};

inline In in(const Dims& dims, th::DType dtype = th::DType::Float) {
  const th::PartialShape shape{std::span<const std::int64_t>(dims)};
  return {"Placeholder", {{"dtype", dtype}, {"shape", shape}}};
}
inline In any(th::DType dtype = th::DType::Float) {
  return {"Placeholder", {{"dtype", dtype}, {"shape", th::PartialShape()}}};
}
inline In constant(const th::Tensor& value) { return {"Const", {{"dtype", value.dtype()}, {"value", value}}}; }
inline In number(std::int32_t value) { return constant(th::Tensor(value)); }
inline In ints(const std::vector<std::int32_t>& values, const th::Shape& shape) {
  return constant(th::Tensor::copy_of(std::span<const std::int32_t>(values), shape));
}
inline In ints(const std::vector<std::int32_t>& values) {
  return ints(values, {static_cast<std::int64_t>(values.size())});
}
inline In variable(const th::Shape& shape, th::DType dtype = th::DType::Float) {
  return {"VariableV2", {{"dtype", dtype}, {"shape", th::PartialShape(shape)}}};
}

/// Unknown if the input is no tensor.
inline th::PartialShape shape_of(const In& input) {
  if (input.type == "Const") return std::get<th::Tensor>(input.attrs.at("value")).shape();
  const auto shape = input.attrs.find("shape");
  return shape == input.attrs.end() ? th::PartialShape() : std::get<th::PartialShape>(shape->second);
}

/// An input of the same shape.
inline In with_dtype(const In& input, th::DType dtype) {
  return {input.type == "Const" ? "Placeholder" : input.type, {{"dtype", dtype}, {"shape", shape_of(input)}}};
}

/// A node, and the call that builds it; without one, the op has no builder.
struct ShapeCase {
  std::string op{};
  std::vector<In> inputs{};
  th::Attrs attrs{};
  std::function<th::Operation(const Inputs&)> build{};
};

/// The shapes of a node's outputs, for example `[2,?] <unknown>`, or the error.
struct Result {
  std::string shapes{};
  std::string error{};
};

inline Result result_of(const std::function<th::Operation(th::Graph&)>& add) {
  th::Graph graph;
  Result result;
  try {
    for (const th::OutputSpec& output : add(graph).node().outputs())
      result.shapes += fmt::format("{}{}", result.shapes.empty() ? "" : " ", output.shape);
  } catch (const th::Error& error) { result.error = error.what(); }
  return result;
}

inline Inputs add_inputs(th::Graph& graph, const ShapeCase& of) {
  Inputs inputs;
  for (std::size_t i = 0; i < of.inputs.size(); ++i) {
    const th::Operation op =
        graph.add(*th::find_op_def(of.inputs[i].type), {.name = fmt::format("in{}", i), .attrs = of.inputs[i].attrs});
    inputs.emplace_back(&op.node(), 0);
  }
  return inputs;
}

/// Adds the node of a case by its builder.
inline th::Operation build(th::Graph& graph, const ShapeCase& of) {
  const Inputs inputs = add_inputs(graph, of);
  if (of.build) return of.build(inputs);
  th::NodeSpec spec{.type = of.op, .name = "node", .inputs = inputs, .attrs = of.attrs};
  th::detail::infer_attrs(spec, *th::find_op_def(of.op));
  return graph.add(*th::find_op_def(of.op), std::move(spec));
}

/// The node of a case and its inputs as a file has them, unchecked.
inline th::GraphDef graph_def_of(const ShapeCase& of) {
  th::Graph graph;
  th::NodeSpec spec{.type = of.op, .inputs = add_inputs(graph, of), .attrs = of.attrs};
  th::detail::infer_attrs(spec, *th::find_op_def(of.op));
  th::GraphDef def{.source = "case.pb"};
  for (const th::Node& node : graph.nodes()) def.nodes.push_back(th::node_def_of(node));
  for (th::NodeDef& node : def.nodes) node.output_shapes.clear();
  th::NodeDef node{.name = "node", .op = of.op, .attrs = spec.attrs};
  for (const th::Output& input : spec.inputs) node.inputs.push_back(th::detail::input_name(input));
  def.nodes.push_back(std::move(node));
  return def;
}

inline std::string bytes_of(const th::GraphDef& def) {
  std::string bytes;
  for (const th::NodeDef& node : def.nodes) th::detail::append_node(bytes, node, false);
  th::detail::append_versions(bytes);
  return bytes;
}

inline th::Operation import(th::Graph& graph, const ShapeCase& of) {
  return th::import_graph_def(graph, graph_def_of(of), {.name = ""}).back();
}

/// Adds the ops that imported models use.
void add_model_shapes(std::vector<ShapeCase>& cases);

/// Adds the ops that the models of tutorials use.
void add_tutorial_shapes(std::vector<ShapeCase>& cases);

/// Cases made from the definition of each op that TensorFlow has too.
std::vector<ShapeCase> generated_shape_cases();

/// All cases, several for each op type.
std::vector<ShapeCase> all_shape_cases();

}  // namespace shape_cases
