// SPDX-License-Identifier: Apache-2.0
/// @file
/// SessionManager: prepares new sessions from the newest good checkpoint or from initial values.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <trainhook/checkpoint/checkpoint_source.hpp>
#include <trainhook/checkpoint/restore_policy.hpp>
#include <trainhook/core/duration.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/monitored/session_creator.hpp>
#include <trainhook/session/run_args.hpp>
#include <trainhook/session/session_ref.hpp>

namespace trainhook {

class Clock;
class FileSystem;
class Saver;

/// The result of a restore.
struct RestoreReport {
  std::string prefix{};                ///< the checkpoint that was restored; empty: none
  std::vector<std::string> skipped{};  ///< newer checkpoints that were skipped, each with the reason
};

/// The checkpoint from which a model is restored.
struct RestoreOptions {
  std::shared_ptr<Saver> saver{};                       ///< null: restores nothing
  std::string checkpoint_dir{};                         ///< its newest good checkpoint
  CheckpointSource checkpoint_filename_with_path{};     ///< or exactly this one
  std::shared_ptr<const RestorePolicy> restore{};       ///< null: all of it has to fit
  bool wait_for_checkpoint = false;                     ///< waits for one if the directory has none yet
  Duration max_wait_secs = std::chrono::seconds(7200);  ///< the longest such wait
};

/// How to initialize variables if nothing was restored.
struct InitOptions {
  Operation init_op{};
  FeedDict init_feed_dict{};                  ///< feeds for `init_op`
  std::function<void(SessionRef)> init_fn{};  ///< called after `init_op`
};

struct SessionManagerOptions {
  Operation local_init_op{};        ///< run in every new session, even a restored one
  FeedDict local_init_feed_dict{};  ///< feeds for `local_init_op`
  std::optional<RunOptions> local_init_run_options{};
  Output ready_op{};                 ///< a string vector of what is not ready; empty: always ready
  Output ready_for_local_init_op{};  ///< the same, before `local_init_op`
  bool ask_session = false;          ///< instead of missing ops, asks the session for uninitialized variables
  Duration recovery_wait_secs = std::chrono::seconds(30);  ///< the time between two attempts while waiting
  FileSystem* file_system = nullptr;                       ///< null: the disk; must outlive the manager
  Clock* clock = nullptr;                                  ///< null: the system's clock; must outlive the manager
};

/// The uninitialized variables: the session's and, with `with_local`, those in the graph's collection of local
/// variables. Source: TensorFlow's op of this name; this function asks the session and adds no nodes.
[[nodiscard]] TRAINHOOK_DECL std::vector<std::string> report_uninitialized_variables(SessionRef session,
                                                                                     bool with_local = true);

namespace detail {

/// The checkpoints of a directory from which a model of `graph` can be restored, best first.
TRAINHOOK_DECL std::vector<std::string> restorable_checkpoints(FileSystem& file_system, const Graph& graph,
                                                               const std::string& directory);

}  // namespace detail

/// Prepares sessions for running. Uses an older checkpoint if one is damaged, and closes a session that it cannot
/// prepare. A checkpoint that cannot be read (permissions, too many open files, a device that fails twice) is not
/// damaged: preparing fails with that error. Source: TensorFlow's `SessionManager`.
class SessionManager {
 public:
  /// Opens a session of the graph with uninitialized variables.
  using Open = detail::SessionOpener;

  /// @throws InvalidArgumentError for a `ready_for_local_init_op` without a `local_init_op`, or a wait that is not
  /// positive.
  TRAINHOOK_DECL explicit SessionManager(SessionManagerOptions options = {});

  /// Opens a session and sets its variables, from the directory's newest good checkpoint or the given file, or else
  /// with `init_op` and `init_fn`; then runs `local_init_op`.
  /// @throws InvalidArgumentError if both a directory and a file are given; FailedPreconditionError if variables are
  /// still uninitialized; DataLossError if all checkpoints of the directory are damaged.
  [[nodiscard]] TRAINHOOK_DECL OwnedSession prepare_session(const Open& open, const RestoreOptions& from = {},
                                                            const InitOptions& init = {});

  struct Recovered {
    OwnedSession session{};
    bool initialized = false;  ///< true if it was restored and is ready
  };

  /// Opens a session, restores it if there is a checkpoint, and runs `local_init_op`; never runs `init_op`.
  /// @throws as `prepare_session`, but not for uninitialized variables.
  [[nodiscard]] TRAINHOOK_DECL Recovered recover_session(const Open& open, const RestoreOptions& from);

  /// Opens sessions, and closes them again, until another process has initialized one. Without `max_wait_secs` it waits
  /// indefinitely.
  /// @throws DeadlineExceededError after `max_wait_secs`.
  [[nodiscard]] TRAINHOOK_DECL OwnedSession wait_for_session(const Open& open,
                                                             std::optional<Duration> max_wait_secs = std::nullopt);

  /// The result of the last restore.
  [[nodiscard]] const RestoreReport& report() const noexcept { return report_; }

 private:
  // Opens and restores a session and calls `then(session, restored)`; closes the session on an exception.
  template <class Then>
  OwnedSession opened(const Open& open, const RestoreOptions& from, const InitOptions& init, Then then);

  // Waits for the next attempt; false if `max_wait` has passed since `begin`.
  TRAINHOOK_DECL bool pause(Duration begin, std::optional<Duration> max_wait) const;

  TRAINHOOK_DECL void restore(SessionRef session, const RestoreOptions& from, const InitOptions& init);
  TRAINHOOK_DECL void restore_newest(SessionRef session, const RestoreOptions& from, const InitOptions& init);
  [[nodiscard]] TRAINHOOK_DECL std::optional<std::string> try_restore(SessionRef session, const std::string& prefix,
                                                                      const RestoreOptions& from,
                                                                      const InitOptions& init) const;
  // Describes when a checkpoint was written, and how this run differs from the one that wrote it.
  [[nodiscard]] TRAINHOOK_DECL std::string about_the_writer(SessionRef session, const std::string& prefix) const;
  TRAINHOOK_DECL std::vector<std::string> candidates_of(const Graph& graph, const RestoreOptions& from) const;
  TRAINHOOK_DECL void initialize(SessionRef session, const InitOptions& init) const;

  // Why local variables could not be initialized, or nothing.
  TRAINHOOK_DECL std::optional<std::string> try_local_init(SessionRef session) const;

  TRAINHOOK_DECL std::optional<std::string> why_not(SessionRef session, Output probe, bool with_local) const;

  // What the first session began with in place of a checkpoint's values: see `keep_initial`.
  struct Start {
    std::string checkpoint{};  // empty: none
    std::vector<NamedTensor> values{};
  };

  // Sets what `keep_initial` is about after a restore. Returns what differed in the checkpoint.
  TRAINHOOK_DECL std::string keep_initial_values(SessionRef session, const std::vector<NamedTensor>& initial);

  SessionManagerOptions options_;
  RestoreReport report_;
  std::optional<Start> start_;
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/monitored/impl/session_manager.ipp>
#endif
