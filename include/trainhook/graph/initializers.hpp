// SPDX-License-Identifier: Apache-2.0
/// @file
/// Initial values of variables, and `get_variable`, which makes a variable from one.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <trainhook/graph/random_ops.hpp>
#include <trainhook/graph/variable.hpp>

namespace trainhook {

/// Adds what computes an initial value to a graph, under the name scope it finds. Any callable of this form will do.
using Initializer = std::function<Output(Graph&, const Shape&, DType)>;

/// Source: `tf.zeros_initializer` and its kin, of which they bear the names.
inline Initializer zeros_initializer() {
  return [](Graph& graph, const Shape& shape, DType dtype) { return zeros(graph, shape, dtype); };
}
inline Initializer ones_initializer() {
  return [](Graph& graph, const Shape& shape, DType dtype) { return ones(graph, shape, dtype); };
}
inline Initializer constant_initializer(double value) {
  return [value](Graph& graph, const Shape& shape, DType dtype) { return constant(graph, detail::filled_tensor(dtype, shape, value)); };
}
/// The elements of `value`, which must be of the variable's shape and dtype.
inline Initializer constant_initializer(Tensor value) {
  return [value = std::move(value)](Graph& graph, const Shape& shape, DType dtype) {
    if (value.shape() != shape || value.dtype() != dtype) {
      throw InvalidArgumentError("an initial value ", value, " does not fit a variable ", dtype_name(dtype), shape);
    }
    return constant(graph, value);
  };
}

inline Initializer random_uniform_initializer(double minval = -0.05, double maxval = 0.05,
                                              std::optional<std::int64_t> seed = std::nullopt) {
  return [=](Graph& graph, const Shape& shape, DType dtype) {
    return random_uniform(graph, shape, {.minval = minval, .maxval = maxval, .dtype = dtype, .seed = seed});
  };
}
inline Initializer random_normal_initializer(double mean = 0, double stddev = 1, std::optional<std::int64_t> seed = std::nullopt) {
  return [=](Graph& graph, const Shape& shape, DType dtype) {
    return random_normal(graph, shape, {.mean = mean, .stddev = stddev, .dtype = dtype, .seed = seed});
  };
}
inline Initializer truncated_normal_initializer(double mean = 0, double stddev = 1, std::optional<std::int64_t> seed = std::nullopt) {
  return [=](Graph& graph, const Shape& shape, DType dtype) {
    return truncated_normal(graph, shape, {.mean = mean, .stddev = stddev, .dtype = dtype, .seed = seed});
  };
}

namespace detail {

/// How many values a unit takes in and gives out, as Glorot and Bengio count them: the last two dimensions, each times the others.
inline double fan_sum(const Shape& shape) {
  const std::size_t rank = shape.rank();
  if (rank == 0) return 2;
  if (rank == 1) return 2 * static_cast<double>(shape[0]);
  double others = 1;
  for (std::size_t i = 0; i + 2 < rank; ++i) others *= static_cast<double>(shape[i]);
  return others * static_cast<double>(shape[rank - 2] + shape[rank - 1]);
}

}  // namespace detail

/// Uniform within sqrt(6 / (fan_in + fan_out)). Source: `tf.glorot_uniform_initializer`.
inline Initializer glorot_uniform_initializer(std::optional<std::int64_t> seed = std::nullopt) {
  return [=](Graph& graph, const Shape& shape, DType dtype) {
    const double limit = std::sqrt(6 / std::max(2.0, detail::fan_sum(shape)));
    return random_uniform(graph, shape, {.minval = -limit, .maxval = limit, .dtype = dtype, .seed = seed});
  };
}
/// Truncated normal of variance 2 / (fan_in + fan_out). Source: `tf.glorot_normal_initializer`.
inline Initializer glorot_normal_initializer(std::optional<std::int64_t> seed = std::nullopt) {
  return [=](Graph& graph, const Shape& shape, DType dtype) {
    constexpr double kTruncatedStddev = .87962566103423978;  // of a unit normal cut off at two standard deviations
    const double stddev = std::sqrt(2 / std::max(2.0, detail::fan_sum(shape))) / kTruncatedStddev;
    return truncated_normal(graph, shape, {.stddev = stddev, .dtype = dtype, .seed = seed});
  };
}

struct GetVariableOptions {
  DType dtype = DType::Float;
  Initializer initializer{};  ///< without one: Glorot uniform for floating dtypes, zeros for others
  bool trainable = true;
  std::vector<std::string> collections = {std::string(graph_keys::kGlobalVariables)};
};

/// Adds the variable `name`, under the current name scope, whose initial value comes from an initializer. Source:
/// `tf.compat.v1.get_variable`, which would share a variable that is there already; here that is an error, and sharing is passing on the
/// `Variable`.
inline Variable get_variable(Graph& graph, std::string_view name, const Shape& shape, const GetVariableOptions& options = {}) {
  const std::string full = graph.current_scope() + std::string(name);
  if (graph.find_operation(full).has_value()) {
    throw InvalidArgumentError("variable ", full, " exists already; pass the Variable on, or name another");
  }
  Initializer initializer = options.initializer;
  if (!initializer) initializer = is_floating(options.dtype) ? glorot_uniform_initializer() : zeros_initializer();
  const Graph::Scope top_level = graph.top_level();
  Output initial;
  {
    const Graph::Scope scope = graph.name_scope(full + "/Initializer/");
    initial = initializer(graph, shape, options.dtype);
  }
  graph.check_belongs(initial, "the initial value of", full);
  if (initial.dtype() != options.dtype || initial.shape() != PartialShape(shape)) {
    throw InvalidArgumentError("variable ", full, " ", dtype_name(options.dtype), shape, ": its initializer gave ",
                               detail::spelled(initial));
  }
  return make_variable(full, initial, {.trainable = options.trainable, .collections = options.collections});
}

}  // namespace trainhook
