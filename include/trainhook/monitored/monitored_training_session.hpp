// SPDX-License-Identifier: Apache-2.0
/// @file
/// monitored_training_session: creates a training session with all the usual hooks. OnExisting: what it does if its
/// directory has checkpoints of an earlier run.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <trainhook/checkpoint/directory_lock.hpp>
#include <trainhook/checkpoint/keep_rule.hpp>
#include <trainhook/core/duration.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/refusal.hpp>
#include <trainhook/events/event_errors.hpp>
#include <trainhook/loop/loop_session.hpp>
#include <trainhook/monitored/monitored_session.hpp>
#include <trainhook/monitored/session_creator.hpp>

namespace trainhook {

class Clock;
class FileSystem;
class RestorePolicy;
class Scaffold;

/// What a training session does if its directory has checkpoints.
enum class OnExisting {
  /// Continues from the newest good one.
  Resume,
  /// Renames the directory `run` to `run.1`, or the next free number, and starts from initial values. If `run` is
  /// a link, the directory that it leads to is renamed, and the link leads to a new one. Do not use it in programs that
  /// are restarted automatically: each restart would start over.
  StartFresh,
  /// Throws AlreadyExistsError.
  Fail,
};

/// A period that is zero or negative turns its hook off.
struct MonitoredTrainingSessionOptions {
  std::shared_ptr<SessionPeers> peers{};           ///< the job that trains together, for one session: `mpi::peers`,
                                                   ///< `ranks::peers`, `ranks::chief` or `ranks::worker`; null: alone
  std::string checkpoint_dir{};                    ///< restores from here and saves to here; empty: neither
  OnExisting on_existing = OnExisting::Resume;     ///< what to do if `checkpoint_dir` has checkpoints
  std::shared_ptr<const RestorePolicy> restore{};  ///< RestoreRules, for a checkpoint that does not fit the model
  std::shared_ptr<Scaffold> scaffold{};            ///< null: a new one with all defaults
  std::optional<int> max_to_keep{};  ///< so many checkpoints, 0: all; 5 if it is not given. Not with a `scaffold`
  KeepRules keep{};                  ///< rules instead, such as `LatestN(5)`. Not with a `scaffold`
  OptionalDuration save_checkpoint_secs{};              ///< if no period is given: every 600 s, unless one of the hooks
  std::optional<std::int64_t> save_checkpoint_steps{};  ///< saves checkpoints
  std::optional<double> max_save_overhead{};            ///< instead of a period, see CheckpointSaverOptions
  OptionalDuration shortest_save_period{};              ///< with it
  OptionalDuration longest_save_period{};
  bool save_on_exception = false;          ///< see CheckpointSaverOptions
  OptionalDuration save_summaries_secs{};  ///< if no period is given: every 100 steps
  std::optional<std::int64_t> save_summaries_steps{};
  std::int64_t log_step_count_steps = 100;             ///< the period of logging and writing steps per second
  std::string summary_dir{};                           ///< for event files; empty: `checkpoint_dir`
  bool save_graph_def = true;                          ///< also writes the graph of an engine that exports it
  bool save_command_line = true;                       ///< also writes the program's arguments to `run.pbtxt`
  DirectoryLock directory_lock = DirectoryLock::Auto;  ///< locks `checkpoint_dir` against other processes
  HookList hooks{};                                    ///< called after those that this function adds
  HookList chief_only_hooks{};                         ///< called before those that this function adds
  EventErrors event_errors = EventErrors::Warn;        ///< what to do if events for TensorBoard cannot be written
  RetryPolicy retry{};
  Duration stop_grace_period_secs = kDefaultStopGracePeriod;  ///< how long `close()` waits for background threads
  FileSystem* file_system = nullptr;                          ///< null: the disk; must outlive the session
  Clock* clock = nullptr;                                     ///< null: the system's clock; must outlive the session
};

namespace detail {

/// Whether one of the hooks saves checkpoints.
[[nodiscard]] TRAINHOOK_DECL bool has_checkpoint_saver(const HookList& hooks);

[[nodiscard]] TRAINHOOK_DECL SessionHandle start_training(Graph& graph, SessionOpener open,
                                                          const MonitoredTrainingSessionOptions& options);

}  // namespace detail

/// A session that trains a graph: restores the newest good checkpoint of `checkpoint_dir` or initializes, counts steps,
/// saves summaries and checkpoints. `graph` must outlive the session; `session_args` are passed to the constructor of
/// engine `S` after the graph. Source: TensorFlow's `MonitoredTrainingSession`.
///
/// With `mpi::peers` or `ranks::peers`, each process of the job creates such a session, of an equal graph and with the
/// same options. Only the first one, the chief, has the `chief_only_hooks` and the hooks that write files. All restore
/// the same checkpoint, with what each has of its own, or get the chief's initial values; all stop at the same step; if
/// one fails, all get its error.
template <SessionLike S, class... SessionArgs>
[[nodiscard]] MonitoredSession<S> monitored_training_session(Graph& graph,
                                                             const MonitoredTrainingSessionOptions& options = {},
                                                             SessionArgs... session_args) {
  return MonitoredSession<S>(detail::start_training(
      graph, [&graph, session_args...] { return OwnedSession::make<S>(graph, session_args...); }, options));
}

TRAINHOOK_MISTAKE(
    "say which engine runs the graph: write monitored_training_session<trainhook::EigenSession>(graph, options)",
    std::same_as<Graph> AnyGraph)
MonitoredSession<LoopSession> monitored_training_session(
    AnyGraph& graph, const MonitoredTrainingSessionOptions& options = {}) TRAINHOOK_REFUSED;
TRAINHOOK_MISTAKE("the loop must outlive its session: write LoopSession loop; and give it that name",
                  std::same_as<LoopSession> Temporary)
MonitoredSession<LoopSession> monitored_training_session(
    Temporary&& loop, const MonitoredTrainingSessionOptions& options = {}) TRAINHOOK_REFUSED;
// Braces that are no options fit nothing else.
TRAINHOOK_MISTAKE(
    "an option has another name, place or type (a path is .restore = trainhook::RestoreRules{.from = path}): write "
    "MonitoredTrainingSessionOptions options{...}; before, pass options, and the compiler says which one it is",
    class S = LoopSession, class Model)
MonitoredSession<S> monitored_training_session(Model& model, ...)
  requires(std::same_as<Model, LoopSession> || (std::same_as<Model, Graph> && !std::same_as<S, LoopSession>))
TRAINHOOK_REFUSED;

/// A session that trains a loop, which must outlive it. @throws UnimplementedError for peers that share a session,
/// because a loop has one thread.
[[nodiscard]] TRAINHOOK_DECL MonitoredSession<LoopSession> monitored_training_session(
    LoopSession& loop, const MonitoredTrainingSessionOptions& options = {});

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/monitored/impl/monitored_training_session.ipp>
#endif
