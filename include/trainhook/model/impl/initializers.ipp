// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/model/initializers.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include <trainhook/core/error.hpp>
#include <trainhook/graph/op_builder.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/ops/state.hpp>
#include <trainhook/model/ops/random.hpp>

namespace trainhook {

Initializer zeros_initializer() {
  return [](Graph& graph, const Shape& shape, DType dtype) { return zeros(graph, shape, dtype); };
}

Initializer ones_initializer() {
  return [](Graph& graph, const Shape& shape, DType dtype) { return ones(graph, shape, dtype); };
}

Initializer constant_initializer(double value) {
  return [value](Graph& graph, const Shape& shape, DType dtype) {
    return constant(graph, detail::filled_tensor(dtype, shape, value));
  };
}

Initializer constant_initializer(Tensor value) {
  return [value = std::move(value)](Graph& graph, const Shape& shape, DType dtype) {
    if (value.shape() != shape || value.dtype() != dtype) {
      throw InvalidArgumentError("an initial value {} does not fit a variable {}{}", value, dtype, shape);
    }
    return constant(graph, value);
  };
}

Initializer random_uniform_initializer(double minval, double maxval, std::optional<std::int64_t> seed) {
  return [=](Graph& graph, const Shape& shape, DType dtype) {
    return random_uniform(graph, shape, {.minval = minval, .maxval = maxval, .dtype = dtype, .seed = seed});
  };
}

Initializer random_normal_initializer(double mean, double stddev, std::optional<std::int64_t> seed) {
  return [=](Graph& graph, const Shape& shape, DType dtype) {
    return random_normal(graph, shape, {.mean = mean, .stddev = stddev, .dtype = dtype, .seed = seed});
  };
}

Initializer truncated_normal_initializer(double mean, double stddev, std::optional<std::int64_t> seed) {
  return [=](Graph& graph, const Shape& shape, DType dtype) {
    return truncated_normal(graph, shape, {.mean = mean, .stddev = stddev, .dtype = dtype, .seed = seed});
  };
}

}  // namespace trainhook

namespace trainhook::detail {

/// How many values a unit takes in and gives out, as Glorot and Bengio count them: the last two dimensions, each times
/// the others.
inline double fan_sum(const Shape& shape) {
  const std::size_t rank = shape.rank();
  if (rank == 0) return 2;
  if (rank == 1) return 2 * static_cast<double>(shape[0]);
  double others = 1;
  for (std::size_t i = 0; i + 2 < rank; ++i) others *= static_cast<double>(shape[i]);
  return others * static_cast<double>(shape[rank - 2] + shape[rank - 1]);
}

}  // namespace trainhook::detail

namespace trainhook {

Initializer glorot_uniform_initializer(std::optional<std::int64_t> seed) {
  return [=](Graph& graph, const Shape& shape, DType dtype) {
    const double limit = std::sqrt(6 / (std::max)(2.0, detail::fan_sum(shape)));
    return random_uniform(graph, shape, {.minval = -limit, .maxval = limit, .dtype = dtype, .seed = seed});
  };
}

Initializer glorot_normal_initializer(std::optional<std::int64_t> seed) {
  return [=](Graph& graph, const Shape& shape, DType dtype) {
    constexpr double kTruncatedStddev = .87962566103423978;  // of a unit normal cut off at two standard deviations
    const double stddev = std::sqrt(2 / (std::max)(2.0, detail::fan_sum(shape))) / kTruncatedStddev;
    return truncated_normal(graph, shape, {.stddev = stddev, .dtype = dtype, .seed = seed});
  };
}

Variable get_variable(Graph& graph, std::string_view name, const Shape& shape, const GetVariableOptions& options) {
  const std::string full = graph.current_scope() + std::string(name);
  if (graph.find_operation(full).has_value()) {
    throw InvalidArgumentError("variable {} exists already; pass the Variable on, or name another", full);
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
    throw InvalidArgumentError("variable {} {}{}: its initializer gave {}", full, options.dtype, shape, initial);
  }
  return make_variable(full, initial, {.trainable = options.trainable, .collections = options.collections});
}

}  // namespace trainhook
