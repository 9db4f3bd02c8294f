// SPDX-License-Identifier: Apache-2.0
/// @file
/// Random ops, and their seeds.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/graph/op_def.hpp>
#include <trainhook/graph/operand.hpp>

namespace trainhook {

/// The two seeds of a random node, its attributes `seed` and `seed2`.
struct OpSeeds {
  std::int64_t seed = 0;
  std::int64_t seed2 = 0;
};

/// The seeds of the next random node: the graph's, and `op_seed` or, without one, the number of such nodes so far.
/// Never both zero, which means "any" in TensorFlow. Source: `tf.compat.v1.random.get_seed`.
TRAINHOOK_DECL OpSeeds get_seed(Graph& graph, std::optional<std::int64_t> op_seed = std::nullopt);

namespace detail {

/// LogUniformCandidateSampler, RandomStandardNormal, RandomUniform, RandomUniformInt, TruncatedNormal.
[[nodiscard]] TRAINHOOK_DECL OpFamily random_ops() noexcept;

}  // namespace detail

struct RandomUniformOptions {
  double minval = 0;
  double maxval = 1;
  DType dtype = DType::Float;
  std::optional<std::int64_t> seed{};
};
/// Uniform numbers in [minval, maxval), new ones in each run. Source: `tf.random.uniform`.
TRAINHOOK_DECL Output random_uniform(Graph& graph, const Shape& shape, const RandomUniformOptions& options = {},
                                     std::string_view name = "random_uniform");

struct RandomNormalOptions {
  double mean = 0;
  double stddev = 1;
  DType dtype = DType::Float;
  std::optional<std::int64_t> seed{};
};

/// Normally distributed numbers, new ones in each run. Source: `tf.random.normal`.
TRAINHOOK_DECL Output random_normal(Graph& graph, const Shape& shape, const RandomNormalOptions& options = {},
                                    std::string_view name = "random_normal");
/// Normally distributed numbers; those beyond two standard deviations are redrawn. Source:
/// `tf.random.truncated_normal`.
TRAINHOOK_DECL Output truncated_normal(Graph& graph, const Shape& shape, const RandomNormalOptions& options = {},
                                       std::string_view name = "truncated_normal");

/// Sets each element of `x` to 0 with probability `rate` and scales the others by 1 / (1 - rate). The rate may be a
/// scalar of the graph, such as a placeholder that an evaluation feeds with 0. Source: `tf.nn.dropout`.
/// @throws InvalidArgumentError for a number outside [0, 1), or a tensor that is not a scalar of `x`'s dtype.
TRAINHOOK_DECL Output dropout(Output x, const Operand& rate, std::optional<std::int64_t> seed = std::nullopt,
                              std::string_view name = "dropout");

struct CandidateSamplerOptions {
  std::int64_t num_sampled = 1;
  std::int64_t range_max = 1;  ///< classes are 0 to range_max - 1
  bool unique = true;          ///< redraws until no class occurs twice
  std::optional<std::int64_t> seed{};
};

struct SampledCandidates {
  Output sampled_candidates{};      ///< int64 [num_sampled]
  Output true_expected_count{};     ///< float32, of the shape of the true classes
  Output sampled_expected_count{};  ///< float32 [num_sampled]
};

/// Draws classes for sampled softmax or noise-contrastive estimation, new ones in each run. They follow a log-uniform
/// (Zipfian) distribution: class k has the probability log((k + 2) / (k + 1)) / log(range_max + 1). Also returns how
/// often the sampled and the true classes are expected to occur. `true_classes` is int64 [batch, num_true]. Source:
/// `tf.random.log_uniform_candidate_sampler`.
TRAINHOOK_DECL SampledCandidates log_uniform_candidate_sampler(Output true_classes,
                                                               const CandidateSamplerOptions& options,
                                                               std::string_view name = "LogUniformCandidateSampler");

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/model/ops/impl/random.ipp>
#endif
