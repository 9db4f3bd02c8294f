// SPDX-License-Identifier: Apache-2.0
/// @file
/// SafetensorsExporter: writes checkpoints of a training as a safetensors file while it goes on.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <trainhook/core/linkage.hpp>
#include <trainhook/exchange/write_safetensors.hpp>
#include <trainhook/hooks/checkpoint_saver_listener.hpp>
#include <trainhook/hooks/saving/best_checkpoint_options.hpp>
#include <trainhook/session/session_ref.hpp>

namespace trainhook {

/// Replaces one file by each new checkpoint, on a thread of its own, after the save is committed; an error is logged,
/// and the file keeps what it had. If an export takes longer than the time between two checkpoints, those in between
/// are left out. After every save, and for the best checkpoint:
///
///     .hooks = {th::CheckpointSaverHook({.checkpoint_dir = "run", .save_steps = 1000,
///                   .listeners = {std::make_shared<th::SafetensorsExporter>("run/model.safetensors")}}),
///               th::BestCheckpointHook({.on_best = th::SafetensorsExporter("run/best.safetensors")})}
///
/// The exporters of `EvalSpec` have `on_best`, too. Copies share one file and one thread; the last one waits for the
/// export at its destruction, and as a listener at the end of the session. Use it on the thread that runs the session.
class SafetensorsExporter final : public CheckpointSaverListener {
 public:
  /// @throws InvalidArgumentError for `max_shard_size`, because shards replace no file.
  TRAINHOOK_DECL explicit SafetensorsExporter(std::string path, SafetensorsOptions options = {});

  /// Exports the newest checkpoint of the only hook that saves the model. Requests no stop.
  TRAINHOOK_DECL bool after_save(SessionRef session, std::int64_t global_step) override;
  TRAINHOOK_DECL void end(SessionRef session, std::int64_t global_step) override;

  /// For `on_best`.
  TRAINHOOK_DECL void operator()(const BestCheckpoint& best) const;

  /// Waits for the export that runs or is to run.
  TRAINHOOK_DECL void wait() const;

 private:
  struct State;

  std::shared_ptr<State> state_;
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/exchange/impl/safetensors_exporter.ipp>
#endif
