// SPDX-License-Identifier: Apache-2.0
/// @file
/// monitored_training_session: a MonitoredSession with the hooks that nearly every training loop wants.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <trainhook/checkpoint/directory_lock.hpp>
#include <trainhook/core/clock.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/events/event_errors.hpp>
#include <trainhook/loop/loop_session.hpp>
#include <trainhook/monitored/monitored_session.hpp>
#include <trainhook/monitored/on_existing.hpp>
#include <trainhook/monitored/session_creator.hpp>

namespace trainhook {

class LocalMaster;
class Scaffold;

/// A period that is zero or negative switches its hook off.
struct MonitoredTrainingSessionOptions {
  bool is_chief = true;                   ///< false: a worker, which uses the session of its chief; it ignores what has
                                          ///< to do with files, and `scaffold` and `chief_only_hooks`
  std::shared_ptr<LocalMaster> master{};  ///< shared by the chief and the workers of this process; null: no workers
  std::shared_ptr<Collective> collective{};     ///< connects the ranks of a job, of which rank 0 is the chief; null: a
                                                ///< process alone
  std::int64_t agree_every_n_steps = 1;         ///< how often the ranks agree whether to stop or to save
  std::string checkpoint_dir{};                 ///< restore from here and save to here; empty: neither
  OnExisting on_existing = OnExisting::Resume;  ///< what to do if `checkpoint_dir` holds a run already
  std::shared_ptr<Scaffold> scaffold{};         ///< null: a new one with all defaults
  OptionalDuration save_checkpoint_secs{};      ///< if no period is given: every 600 s, unless one of the hooks
  std::optional<std::int64_t> save_checkpoint_steps{};  ///< saves checkpoints
  OptionalDuration save_summaries_secs{};               ///< if no period is given: every 100 steps
  std::optional<std::int64_t> save_summaries_steps{};
  std::int64_t log_step_count_steps = 100;             ///< how often the steps per second are logged and written
  std::string summary_dir{};                           ///< for event files; empty: `checkpoint_dir`
  bool save_graph_def = true;                          ///< also write `graph.pbtxt` and `.meta` files
  DirectoryLock directory_lock = DirectoryLock::Auto;  ///< keeps other processes from saving into `checkpoint_dir`
  HookList hooks{};                                    ///< yours; called after those that this function adds
  HookList chief_only_hooks{};                         ///< called before those that this function adds
  EventErrors event_errors = EventErrors::Warn;        ///< what happens if events for TensorBoard cannot be written
  RetryPolicy retry{};
  Duration stop_grace_period_secs = kDefaultStopGracePeriod;  ///< how long `close()` waits for background threads
  Duration max_wait_secs = std::chrono::seconds(7200);  ///< how long a worker waits for its chief, a rank for others
  FileSystem* file_system = nullptr;                    ///< null: the machine's own
  Clock* clock = nullptr;                               ///< null: the machine's own
};

namespace detail {

/// Whether one of the hooks saves checkpoints.
[[nodiscard]] TRAINHOOK_DECL bool has_checkpoint_saver(const HookList& hooks);

[[nodiscard]] TRAINHOOK_DECL SessionLifecycle start_training(Graph& graph, SessionOpener open,
                                                             const MonitoredTrainingSessionOptions& options);

}  // namespace detail

/// Trains a graph: restores the newest good checkpoint of `checkpoint_dir` or initializes, counts steps, saves
/// summaries and checkpoints. `graph` must outlive the session; `session_args` are passed to the constructor of engine
/// `S` after the graph. Source: TensorFlow's `MonitoredTrainingSession`.
///
/// With a `collective`, each rank of the job makes a session of its own, of the same graph and with the same options.
/// Rank 0 is the chief, which alone has the `chief_only_hooks` and the hooks that write files; the others restore what
/// it has restored, or get its initial values. Its checkpoints also have what each rank has of its own: generators, the
/// state of hooks, input positions. All ranks stop at the same step when a hook of one of them asks to, or when a
/// signal reaches one. The input must end at the same step on all ranks, or never. If a rank fails, all get its error.
template <SessionLike S, class... SessionArgs>
[[nodiscard]] MonitoredSession<S> monitored_training_session(Graph& graph,
                                                             const MonitoredTrainingSessionOptions& options = {},
                                                             SessionArgs... session_args) {
  return MonitoredSession<S>(detail::start_training(
      graph, [&graph, session_args...] { return OwnedSession::make<S>(graph, session_args...); }, options));
}

/// Trains a loop of your own, which must outlive the session. @throws UnimplementedError for chief and workers: a loop
/// has one thread.
[[nodiscard]] TRAINHOOK_DECL MonitoredSession<LoopSession> monitored_training_session(
    LoopSession& loop, const MonitoredTrainingSessionOptions& options = {});

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/monitored/impl/monitored_training_session.ipp>
#endif
