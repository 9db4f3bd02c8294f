// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/model/ops/random.hpp>

#include <array>
#include <cstddef>
#include <limits>
#include <string>

#include <trainhook/core/error.hpp>
#include <trainhook/graph/op_builder.hpp>
#include <trainhook/graph/ops/cast.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/ops/shape_rules.hpp>
#include <trainhook/model/ops/array.hpp>
#include <trainhook/model/ops/math.hpp>

namespace trainhook {

OpSeeds get_seed(Graph& graph, std::optional<std::int64_t> op_seed) {
  OpSeeds seeds{.seed = graph.random_seed(), .seed2 = op_seed ? *op_seed : graph.next_op_seed()};
  if (seeds.seed == 0 && seeds.seed2 == 0) seeds.seed2 = (std::numeric_limits<std::int32_t>::max)();
  return seeds;
}

}  // namespace trainhook

namespace trainhook::detail {

inline PartialShape random_uniform_int_shape(const NodeSpec& node, std::size_t) {
  for (std::size_t i = 1; i < 3; ++i) require_rank(label(node), node.inputs[i], 0);
  return shape_rules::dims_in<0>(node, 0);
}

/// Samples and their counts are vectors; the true classes, and their counts, are rows of `num_true`.
inline PartialShape candidate_shape(const NodeSpec& node, std::size_t index) {
  const auto num_true = attr_of<std::int64_t>(node, "num_true");
  const auto num_sampled = attr_of<std::int64_t>(node, "num_sampled");
  const Output& classes = node.inputs[0];
  require_rank(label(node), classes, 2);
  const std::int64_t batch = classes.shape().has_rank() ? classes.shape()[0] : kUnknownDim;
  return index == 1 ? PartialShape{batch, num_true} : PartialShape{num_sampled};
}

inline constexpr std::string_view kFloatingRandom = "T:{int32,int64} dtype:floating seed:int=0 seed2:int=0";
inline constexpr std::string_view kIntegerRandom = "T:{int32,int64} Tout:{int32,int64} seed:int=0 seed2:int=0";

inline constexpr OpDef kLogUniformCandidateSamplerOp{
    "LogUniformCandidateSampler", "int64 -> int64 float32 float32",
    "num_true:int>0 num_sampled:int>0 unique:bool range_max:int>0 seed:int=0 seed2:int=0", candidate_shape};
inline constexpr OpDef kRandomStandardNormalOp{"RandomStandardNormal", "T -> dtype", kFloatingRandom,
                                               shape_rules::dims_in<0>};
inline constexpr OpDef kRandomUniformOp{"RandomUniform", "T -> dtype", kFloatingRandom, shape_rules::dims_in<0>};
inline constexpr OpDef kRandomUniformIntOp{"RandomUniformInt", "T Tout Tout -> Tout", kIntegerRandom,
                                           random_uniform_int_shape};
inline constexpr OpDef kTruncatedNormalOp{"TruncatedNormal", "T -> dtype", kFloatingRandom, shape_rules::dims_in<0>};

inline constexpr std::array kRandomOps{&kLogUniformCandidateSamplerOp, &kRandomStandardNormalOp, &kRandomUniformOp,
                                       &kRandomUniformIntOp, &kTruncatedNormalOp};

OpFamily random_ops() noexcept { return kRandomOps; }

/// New numbers of shape `extents` each run.
inline Output draw(const OpDef& def, const Output& extents, DType dtype, const OpSeeds& seeds) {
  return add_op(def, def.type, {extents}, {{"dtype", dtype}, {"seed", seeds.seed}, {"seed2", seeds.seed2}});
}

inline Output random_node(const OpDef& def, Graph& graph, const Shape& shape, DType dtype,
                          std::optional<std::int64_t> seed, std::string_view scope) {
  if (!is_floating(dtype)) throw InvalidArgumentError("{} {} gives floating dtypes, not {}", def.type, scope, dtype);
  const OpSeeds seeds = get_seed(graph, seed);
  return draw(def, constant_ints(graph, dims_of(shape), "shape"), dtype, seeds);
}

/// `x * factor + offset` under the name of the current scope.
inline Output scaled(Graph& graph, const Output& x, double factor, double offset, std::string_view factor_name,
                     std::string_view offset_name) {
  const std::string& whole = graph.current_scope();
  const Output product = multiply(x, Operand(factor).beside(x, factor_name));
  return add(product, Operand(offset).beside(x, offset_name), whole);
}

}  // namespace trainhook::detail

namespace trainhook {

Output random_uniform(Graph& graph, const Shape& shape, const RandomUniformOptions& options, std::string_view name) {
  if (!(options.minval < options.maxval)) {
    throw InvalidArgumentError("{}: minval {} must be below maxval {}", name, options.minval, options.maxval);
  }
  const Graph::Scope scope = graph.name_scope(name);
  const Output unit = detail::random_node(detail::kRandomUniformOp, graph, shape, options.dtype, options.seed, name);
  return detail::scaled(graph, unit, options.maxval - options.minval, options.minval, "range", "min");
}

}  // namespace trainhook

namespace trainhook::detail {

inline Output normal(const OpDef& def, Graph& graph, const Shape& shape, const RandomNormalOptions& options,
                     std::string_view name) {
  if (!(options.stddev >= 0)) throw InvalidArgumentError("{}: stddev {} must not be negative", name, options.stddev);
  const Graph::Scope scope = graph.name_scope(name);
  const Output unit = random_node(def, graph, shape, options.dtype, options.seed, name);
  return scaled(graph, unit, options.stddev, options.mean, "stddev", "mean");
}

}  // namespace trainhook::detail

namespace trainhook {

Output random_normal(Graph& graph, const Shape& shape, const RandomNormalOptions& options, std::string_view name) {
  return detail::normal(detail::kRandomStandardNormalOp, graph, shape, options, name);
}

Output truncated_normal(Graph& graph, const Shape& shape, const RandomNormalOptions& options, std::string_view name) {
  return detail::normal(detail::kTruncatedNormalOp, graph, shape, options, name);
}

Output dropout(Output x, const Operand& rate, std::optional<std::int64_t> seed, std::string_view name) {
  detail::require_floating("dropout", x);
  if (rate.is_number()) {
    if (!(rate.number() >= 0 && rate.number() < 1))
      throw InvalidArgumentError("dropout {}: rate {} must be in [0, 1)", name, rate.number());
    if (rate.number() == 0) return x;
  } else {
    detail::graph_of("dropout", rate.output());
    detail::require_rank("dropout", rate.output(), 0);
  }
  Graph& graph = x.graph();
  const Graph::Scope scope = graph.name_scope(name);
  const OpSeeds seeds = get_seed(graph, seed);
  const Output drawn = detail::draw(detail::kRandomUniformOp, detail::shape_tensor(x), x.dtype(), seeds);
  const Output kept = cast(greater_equal(drawn, rate.beside(x, "rate")), x.dtype());
  const Output scale = rate.is_number() ? Operand(1 / (1 - rate.number())).beside(x, "scale") : 1 / (1 - rate.output());
  return multiply(multiply(x, scale), kept);
}

SampledCandidates log_uniform_candidate_sampler(Output true_classes, const CandidateSamplerOptions& options,
                                                std::string_view name) {
  Graph& graph = detail::graph_of("LogUniformCandidateSampler", true_classes);
  const PartialShape& shape = true_classes.shape();
  if (!shape.has_rank() || shape.rank() != 2 || shape[1] == kUnknownDim) {
    throw InvalidArgumentError("{}: true_classes is {}; it must be a matrix of a known number of columns", name,
                               true_classes);
  }
  const OpSeeds seeds = get_seed(graph, options.seed);
  const Operation op = detail::add_node(graph, detail::kLogUniformCandidateSamplerOp,
                                        {.name = std::string(name),
                                         .inputs = {true_classes},
                                         .attrs = {{"num_true", shape[1]},
                                                   {"num_sampled", options.num_sampled},
                                                   {"unique", options.unique},
                                                   {"range_max", options.range_max},
                                                   {"seed", seeds.seed},
                                                   {"seed2", seeds.seed2}}});
  return {op.output(0), op.output(1), op.output(2)};
}

}  // namespace trainhook
