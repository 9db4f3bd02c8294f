// SPDX-License-Identifier: Apache-2.0
/// @file
/// Ops that draw random numbers, and where their seeds come from.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include <trainhook/graph/math_ops.hpp>

namespace trainhook {

/// The two seeds of a random node, its attributes `seed` and `seed2`.
struct OpSeeds {
  std::int64_t seed = 0;
  std::int64_t seed2 = 0;
};

/// The seeds of the next random node: the graph's, and the node's own or, without one, a number that counts such nodes. Never both zero,
/// which TensorFlow takes for "any". Source: `tf.compat.v1.random.get_seed`.
inline OpSeeds get_seed(Graph& graph, std::optional<std::int64_t> op_seed = std::nullopt) {
  OpSeeds seeds{.seed = graph.random_seed(), .seed2 = op_seed ? *op_seed : graph.next_op_seed()};
  if (seeds.seed == 0 && seeds.seed2 == 0) seeds.seed2 = std::numeric_limits<std::int32_t>::max();
  return seeds;
}

namespace detail {

inline Output random_node(std::string_view type, Graph& graph, const Shape& shape, DType dtype, std::optional<std::int64_t> seed,
                          std::string_view scope) {
  if (!is_floating(dtype)) throw InvalidArgumentError(type, " ", scope, " gives floating dtypes, not ", dtype_name(dtype));
  const OpSeeds seeds = get_seed(graph, seed);
  const Output extents = constant_ints(graph, dims_of(shape), "shape");
  return add_op(graph, type, type, {extents}, {{"T", DType::Int32}, {"dtype", dtype}, {"seed", seeds.seed}, {"seed2", seeds.seed2}}, dtype,
                shape);
}

/// `x * factor + offset` under the name of the current scope.
inline Output scaled(Graph& graph, const Output& x, double factor, double offset, std::string_view factor_name,
                     std::string_view offset_name) {
  const std::string& whole = graph.current_scope();
  const Output product = mul(x, Operand(factor).beside(x, factor_name));
  return add(product, Operand(offset).beside(x, offset_name), whole);
}

}  // namespace detail

struct RandomUniformOptions {
  double minval = 0;
  double maxval = 1;
  DType dtype = DType::Float;
  std::optional<std::int64_t> seed{};
};
/// Numbers from [minval, maxval), new ones each run. Source: `tf.random.uniform`.
inline Output random_uniform(Graph& graph, const Shape& shape, const RandomUniformOptions& options = {},
                             std::string_view name = "random_uniform") {
  if (!(options.minval < options.maxval)) {
    throw InvalidArgumentError(name, ": minval ", options.minval, " must be below maxval ", options.maxval);
  }
  const Graph::Scope scope = graph.name_scope(name);
  const Output unit = detail::random_node("RandomUniform", graph, shape, options.dtype, options.seed, name);
  return detail::scaled(graph, unit, options.maxval - options.minval, options.minval, "range", "min");
}

struct RandomNormalOptions {
  double mean = 0;
  double stddev = 1;
  DType dtype = DType::Float;
  std::optional<std::int64_t> seed{};
};

namespace detail {

inline Output normal(std::string_view type, Graph& graph, const Shape& shape, const RandomNormalOptions& options, std::string_view name) {
  if (!(options.stddev >= 0)) throw InvalidArgumentError(name, ": stddev ", options.stddev, " must not be negative");
  const Graph::Scope scope = graph.name_scope(name);
  const Output unit = random_node(type, graph, shape, options.dtype, options.seed, name);
  return scaled(graph, unit, options.stddev, options.mean, "stddev", "mean");
}

}  // namespace detail

/// Normally distributed numbers, new ones each run. Source: `tf.random.normal`.
inline Output random_normal(Graph& graph, const Shape& shape, const RandomNormalOptions& options = {},
                            std::string_view name = "random_normal") {
  return detail::normal("RandomStandardNormal", graph, shape, options, name);
}
/// The same, with what lies beyond two standard deviations drawn again. Source: `tf.random.truncated_normal`.
inline Output truncated_normal(Graph& graph, const Shape& shape, const RandomNormalOptions& options = {},
                               std::string_view name = "truncated_normal") {
  return detail::normal("TruncatedNormal", graph, shape, options, name);
}

/// `x` with each element dropped with probability `rate`, the others scaled by 1 / (1 - rate). The rate may be a scalar of the graph, such
/// as a placeholder that is 0 where nothing is to be dropped. Source: `tf.nn.dropout`.
/// @throws InvalidArgumentError for a number outside [0, 1), or a tensor that is no scalar of the dtype of `x`.
inline Output dropout(Output x, const Operand& rate, std::optional<std::int64_t> seed = std::nullopt, std::string_view name = "dropout") {
  detail::require_floating("dropout", x);
  if (rate.is_number()) {
    if (!(rate.number() >= 0 && rate.number() < 1))
      throw InvalidArgumentError("dropout ", name, ": rate ", rate.number(), " must lie in [0, 1)");
    if (rate.number() == 0) return x;
  } else {
    detail::graph_of("dropout", rate.output());
    detail::require_rank("dropout", rate.output(), 0);
  }
  Graph& graph = x.graph();
  const Graph::Scope scope = graph.name_scope(name);
  const OpSeeds seeds = get_seed(graph, seed);
  const Output extents = x.shape().is_fully_known() ? detail::constant_ints(graph, detail::dims_of(x.shape()), "Shape") : shape(x);
  const Output drawn =
      detail::add_op(graph, "RandomUniform", "RandomUniform", {extents},
                     {{"T", DType::Int32}, {"dtype", x.dtype()}, {"seed", seeds.seed}, {"seed2", seeds.seed2}}, x.dtype(), x.shape());
  const Output kept = cast(greater_equal(drawn, rate.beside(x, "rate")), x.dtype());
  const Output scale = rate.is_number() ? Operand(1 / (1 - rate.number())).beside(x, "scale") : 1 / (1 - rate.output());
  return mul(mul(x, scale), kept);
}

}  // namespace trainhook
