// SPDX-License-Identifier: Apache-2.0
/// @file
/// monitored_training_session: a MonitoredSession with the hooks that nearly every training loop wants.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <trainhook/core/clock.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/hooks/scaffold.hpp>
#include <trainhook/io/file_system.hpp>
#include <trainhook/loop/loop_session.hpp>
#include <trainhook/monitored/chief_session_creator.hpp>
#include <trainhook/monitored/local_master.hpp>
#include <trainhook/monitored/monitored_session.hpp>
#include <trainhook/monitored/recoverable_session.hpp>
#include <trainhook/monitored/session_creator.hpp>
#include <trainhook/monitored/session_manager.hpp>
#include <trainhook/monitored/worker_session_creator.hpp>
#include <trainhook/session/coordinator.hpp>
#include <trainhook/session/session_run_hook.hpp>

namespace trainhook {

/// A period that is given as zero or below switches its hook off.
struct MonitoredTrainingSessionOptions {
  bool is_chief = true;  ///< false: a worker, which joins its chief's session; then only `master`, `hooks`,
                         ///< `max_wait_secs`, `retry`, `stop_grace_period_secs`, `file_system`, `clock` count
  std::shared_ptr<LocalMaster> master{};  ///< where chief and workers of one process meet; null: there are no workers
  std::string checkpoint_dir{};           ///< restore from here and save to here; empty: neither
  std::shared_ptr<Scaffold> scaffold{};   ///< null: a new one with all defaults
  std::optional<Duration>
      save_checkpoint_secs{};  ///< neither period given: every 600 s, unless `hooks` has a CheckpointSaverHook
  std::optional<std::int64_t> save_checkpoint_steps{};
  std::optional<Duration> save_summaries_secs{};  ///< neither period given: every 100 steps
  std::optional<std::int64_t> save_summaries_steps{};
  std::int64_t log_step_count_steps = 100;  ///< how often steps per second are logged and written
  std::string summary_dir{};                ///< event files; empty: `checkpoint_dir`
  bool save_graph_def = true;               ///< also write `graph.pbtxt` and `.meta` files
  HookList hooks{};                         ///< yours, behind those that this function adds
  HookList chief_only_hooks{};              ///< in front of them; ignored by workers
  RetryPolicy retry{};
  Duration stop_grace_period_secs = kDefaultStopGracePeriod;  ///< how long `close()` waits for background threads
  Duration max_wait_secs = std::chrono::seconds(7200);        ///< how long a worker waits for its chief
  FileSystem* file_system = nullptr;                          ///< null: the machine's own
  Clock* clock = nullptr;                                     ///< null: the machine's own
};

namespace detail {

// TensorFlow's order: the chief's own, step counter, summaries, checkpoints, then the user's.
[[nodiscard]] TRAINHOOK_DECL HookList training_hooks(const MonitoredTrainingSessionOptions& options);

template <SessionLike S>
[[nodiscard]] MonitoredSession<S> training_session(Graph& graph, SessionManager::Open open,
                                                   MonitoredTrainingSessionOptions options) {
  if (options.scaffold == nullptr) options.scaffold = std::make_shared<Scaffold>();
  std::shared_ptr<SessionCreator> creator;
  if (options.is_chief) {
    creator = std::make_shared<ChiefSessionCreator>(graph, std::move(open),
                                                    ChiefSessionCreatorOptions{.scaffold = options.scaffold,
                                                                               .checkpoint_dir = options.checkpoint_dir,
                                                                               .master = options.master,
                                                                               .file_system = options.file_system,
                                                                               .clock = options.clock});
  } else {
    creator = std::make_shared<WorkerSessionCreator>(
        WorkerSessionCreatorOptions{.master = options.master, .max_wait_secs = options.max_wait_secs});
  }
  return MonitoredSession<S>(std::move(creator), {.hooks = training_hooks(options),
                                                  .stop_grace_period_secs = options.stop_grace_period_secs,
                                                  .retry = options.retry,
                                                  .file_system = options.file_system,
                                                  .clock = options.clock});
}

}  // namespace detail

/// A session of engine `S` on `graph`, which must outlive it; `session_args` go to the engine's constructor behind the
/// graph. Restores the newest good checkpoint of `checkpoint_dir` or initializes; counts steps, saves summaries and
/// checkpoints. Source: TensorFlow's `MonitoredTrainingSession`.
template <SessionLike S, class... SessionArgs>
[[nodiscard]] MonitoredSession<S> monitored_training_session(Graph& graph, MonitoredTrainingSessionOptions options = {},
                                                             SessionArgs... session_args) {
  return detail::training_session<S>(
      graph, [&graph, session_args...] { return OwnedSession::make<S>(graph, session_args...); }, std::move(options));
}

/// The same around a loop of your own, which must outlive the session. @throws UnimplementedError for workers: a loop
/// has one thread.
[[nodiscard]] TRAINHOOK_DECL MonitoredSession<LoopSession> monitored_training_session(
    LoopSession& loop, MonitoredTrainingSessionOptions options = {});

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/monitored/impl/monitored_training_session.ipp>
#endif
