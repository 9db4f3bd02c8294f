// SPDX-License-Identifier: Apache-2.0
/// @file
/// BuiltModel: a model function's graph for one mode.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include <trainhook/checkpoint/checkpoint_source.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/estimator/model_fn.hpp>
#include <trainhook/estimator/run_config.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/io/file_system.hpp>
#include <trainhook/monitored/session_creator.hpp>

namespace trainhook::detail {

/// The configuration of an estimator.
struct ModelSource {
  std::function<OwnedSession(Graph&)> engine;
  ModelFn model_fn;
  RunConfig config;

  [[nodiscard]] TRAINHOOK_DECL FileSystem& file_system() const;

  /// The checkpoint to start from: `wanted`, or else the model's newest; empty, with a log line, if there is none.
  [[nodiscard]] TRAINHOOK_DECL CheckpointSource checkpoint_for(const CheckpointSource& wanted,
                                                               std::string_view purpose) const;
};

/// A graph with its global step, the input and the model. Owns the graph, at a stable address.
struct BuiltModel {
  std::unique_ptr<Graph> graph;
  EstimatorSpec spec;

  /// @throws InvalidArgumentError if the model lacks what `mode` needs.
  TRAINHOOK_DECL BuiltModel(const ModelSource& source, const InputFn& input_fn, ModeKeys mode);
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/estimator/impl/built_model.ipp>
#endif
