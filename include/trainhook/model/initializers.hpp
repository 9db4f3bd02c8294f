// SPDX-License-Identifier: Apache-2.0
/// @file
/// Initializers, and `get_variable`, which creates a variable with one.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/graph/variable.hpp>

namespace trainhook {

/// Adds nodes that compute an initial value, in the current name scope. Any callable of this signature can be one.
using Initializer = std::function<Output(Graph&, const Shape&, DType)>;

/// The initializers have TensorFlow's names. Source: `tf.zeros_initializer` and others.
TRAINHOOK_DECL Initializer zeros_initializer();
TRAINHOOK_DECL Initializer ones_initializer();
TRAINHOOK_DECL Initializer constant_initializer(double value);
/// The elements of `value`, which must have the variable's shape and dtype.
TRAINHOOK_DECL Initializer constant_initializer(Tensor value);

TRAINHOOK_DECL Initializer random_uniform_initializer(double minval = -0.05, double maxval = 0.05,
                                                      std::optional<std::int64_t> seed = std::nullopt);
TRAINHOOK_DECL Initializer random_normal_initializer(double mean = 0, double stddev = 1,
                                                     std::optional<std::int64_t> seed = std::nullopt);
TRAINHOOK_DECL Initializer truncated_normal_initializer(double mean = 0, double stddev = 1,
                                                        std::optional<std::int64_t> seed = std::nullopt);

/// Uniform within sqrt(6 / (fan_in + fan_out)). Source: `tf.glorot_uniform_initializer`.
TRAINHOOK_DECL Initializer glorot_uniform_initializer(std::optional<std::int64_t> seed = std::nullopt);
/// Truncated normal of variance 2 / (fan_in + fan_out). Source: `tf.glorot_normal_initializer`.
TRAINHOOK_DECL Initializer glorot_normal_initializer(std::optional<std::int64_t> seed = std::nullopt);

struct GetVariableOptions {
  DType dtype = DType::Float;
  Initializer initializer{};  ///< empty: Glorot uniform for floating dtypes, zeros for others
  bool trainable = true;
  std::vector<std::string> collections = {std::string(graph_keys::kGlobalVariables)};
};

/// Adds the variable `name` in the current name scope. Source: `tf.compat.v1.get_variable`, but an existing variable is
/// an error: to share one, pass on the `Variable`.
TRAINHOOK_DECL Variable get_variable(Graph& graph, std::string_view name, const Shape& shape,
                                     const GetVariableOptions& options = {});

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/model/impl/initializers.ipp>
#endif
