// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/estimator/built_model.hpp>

#include <utility>

#include <trainhook/checkpoint/checkpoint_state.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/graph/global_step.hpp>

namespace trainhook::detail {

FileSystem& ModelSource::file_system() const { return *config.file_system; }

CheckpointSource ModelSource::checkpoint_for(const CheckpointSource& wanted, std::string_view purpose) const {
  if (!wanted.empty()) return wanted;
  if (auto newest = latest_checkpoint(file_system(), config.model_dir)) return *std::move(newest);
  log_info("Could not find trained model in model_dir: {}, running initialization to {}.", config.model_dir, purpose);
  return {};
}

BuiltModel::BuiltModel(const ModelSource& source, const InputFn& input_fn, ModeKeys mode)
    : graph(std::make_unique<Graph>()) {
  graph->set_random_seed(source.config.tf_random_seed);
  get_or_create_global_step(*graph);
  spec = source.model_fn({.graph = *graph, .mode = mode, .components = input_fn(*graph)});
  spec.validate(mode);
}

}  // namespace trainhook::detail
