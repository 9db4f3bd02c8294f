// SPDX-License-Identifier: Apache-2.0
/// @file
/// CheckpointSaverHook: saves checkpoints periodically and at the end.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <trainhook/core/linkage.hpp>
#include <trainhook/hooks/saving/checkpoint_saver_options.hpp>
#include <trainhook/session/session_run_hook.hpp>

namespace trainhook {

namespace detail {
class CheckpointJob;
enum class SaveStart : bool;
}  // namespace detail

/// Saves the model to `<checkpoint_dir>/<checkpoint_basename>-<step>`: when training starts, at every period, and when
/// the session ends. A checkpoint that was just restored is not saved again; hooks can veto a save. Also writes
/// `graph.pbtxt`, and events for the graph and each save. Saves on the loop's thread; AsyncCheckpointSaverHook writes
/// in the background. Source: TensorFlow's `CheckpointSaverHook`.
class CheckpointSaverHook : public SessionRunHook {
 public:
  using Options = CheckpointSaverOptions;

  /// @throws InvalidArgumentError if no directory is given, unless exactly one positive period is given, if both saver
  /// and scaffold are given, or if a listener is null.
  TRAINHOOK_DECL explicit CheckpointSaverHook(Options options);
  TRAINHOOK_DECL CheckpointSaverHook(CheckpointSaverHook&& other) noexcept;
  TRAINHOOK_DECL ~CheckpointSaverHook() override;

  /// The step of the newest checkpoint that this hook has committed.
  [[nodiscard]] TRAINHOOK_DECL std::optional<std::int64_t> last_saved_step() const noexcept;

  [[nodiscard]] HookPhase phase() const noexcept override { return HookPhase::Save; }
  [[nodiscard]] TRAINHOOK_DECL std::string writes_to() const override;
  TRAINHOOK_DECL void begin(Graph& graph) override;
  TRAINHOOK_DECL void after_create_session(SessionRef session, Coordinator& coordinator) override;
  TRAINHOOK_DECL SessionRunArgs before_run(SessionRunContext& context) override;
  TRAINHOOK_DECL void after_run(SessionRunContext& context, const SessionRunValues& values) override;
  TRAINHOOK_DECL void end(SessionRef session) override;
  TRAINHOOK_DECL void abort(const std::exception_ptr& error) noexcept override;

 private:
  friend class AsyncCheckpointSaverHook;

  TRAINHOOK_DECL CheckpointSaverHook(std::string_view hook, Options options, detail::SaveStart start);

  // Saves the model of this step, or begins to. True if a listener requests a stop.
  TRAINHOOK_DECL virtual bool save(detail::CheckpointJob& job, SessionRef session, std::int64_t step);

  // Ends what is still being written. @throws its error, unless it is tolerated.
  TRAINHOOK_DECL virtual void finish_saves(SessionRef session);

  std::unique_ptr<detail::CheckpointJob> job_;
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/hooks/impl/checkpoint_saver_hook.ipp>
#endif
