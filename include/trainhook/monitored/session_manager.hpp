// SPDX-License-Identifier: Apache-2.0
/// @file
/// SessionManager: prepares new sessions, from the newest good checkpoint or from initial values.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <trainhook/core/clock.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/monitored/session_creator.hpp>
#include <trainhook/session/run_args.hpp>
#include <trainhook/session/session_ref.hpp>

namespace trainhook {

class FileSystem;
class Saver;

/// The result of a restore.
struct RestoreReport {
  std::string prefix{};                ///< the checkpoint that was restored; empty: none
  std::vector<std::string> skipped{};  ///< newer checkpoints that were skipped, each with the reason
};

/// Which checkpoint a model is restored from.
struct RestoreOptions {
  std::shared_ptr<Saver> saver{};               ///< null: nothing is restored
  std::string checkpoint_dir{};                 ///< its newest good checkpoint
  std::string checkpoint_filename_with_path{};  ///< or exactly this one
  std::string own_state{};                      ///< where that has the state of one rank; see Saver::restore
  std::function<std::optional<std::string>(const std::string& prefix)> why_damaged{};  ///< of a directory's checkpoint,
                                                                                       ///< what others found damaged
  bool wait_for_checkpoint = false;                     ///< if the directory has none yet, wait for one
  Duration max_wait_secs = std::chrono::seconds(7200);  ///< the longest such wait
};

/// How variables get initial values, if nothing was restored.
struct InitOptions {
  Operation init_op{};
  FeedDict init_feed_dict{};                  ///< feeds for `init_op`
  std::function<void(SessionRef)> init_fn{};  ///< called after `init_op`
};

struct SessionManagerOptions {
  Operation local_init_op{};        ///< run in every new session, also a restored one
  FeedDict local_init_feed_dict{};  ///< feeds for it
  std::optional<RunOptions> local_init_run_options{};
  Output ready_op{};                 ///< string vector of what is not ready; empty: always ready
  Output ready_for_local_init_op{};  ///< the same, asked before `local_init_op`
  bool ask_session = false;          ///< in place of missing ops: ask the session for variables without a value
  Duration recovery_wait_secs = std::chrono::seconds(30);  ///< between two attempts while waiting
  FileSystem* file_system = nullptr;                       ///< null: the machine's own
  Clock* clock = nullptr;                                  ///< null: the machine's own
};

/// The variables without a value: the session's own and, if `with_local`, those in the graph's collection of local
/// variables. Source: TensorFlow's op of this name; asked of the session, so that it needs no nodes.
[[nodiscard]] TRAINHOOK_DECL std::vector<std::string> report_uninitialized_variables(SessionRef session,
                                                                                     bool with_local = true);

namespace detail {

/// The checkpoints of a directory that a model of `graph` can be restored from, best first.
TRAINHOOK_DECL std::vector<std::string> restorable_checkpoints(FileSystem& file_system, const Graph& graph,
                                                               const std::string& directory);

}  // namespace detail

/// Prepares sessions for running. Source: TensorFlow's `SessionManager`; if a checkpoint is damaged, an older one is
/// used, waiting ends at the deadline, and a session that cannot be prepared is closed. A checkpoint that cannot be
/// read (permissions, too many open files, a device that fails twice) is not damaged: preparing fails with that error.
class SessionManager {
 public:
  /// Opens a session of the graph, without values.
  using Open = detail::SessionOpener;

  /// @throws InvalidArgumentError for a `ready_for_local_init_op` without a `local_init_op`, or a wait that is not
  /// positive.
  TRAINHOOK_DECL explicit SessionManager(SessionManagerOptions options = {});

  /// Opens a session and gives its variables values: from the directory's newest good checkpoint or the given file, or
  /// else by `init_op` and `init_fn`; then runs `local_init_op`.
  /// @throws InvalidArgumentError if both a directory and a file are given; FailedPreconditionError if variables have
  /// no values in the end; DataLossError if the directory has checkpoints and none of them is good.
  [[nodiscard]] TRAINHOOK_DECL OwnedSession prepare_session(const Open& open, const RestoreOptions& from = {},
                                                            const InitOptions& init = {});

  struct Recovered {
    OwnedSession session{};
    bool initialized = false;  ///< true if it was restored and is ready
  };

  /// Opens a session, restores it if there is a checkpoint, and runs `local_init_op`; never runs `init_op`.
  /// @throws as `prepare_session`, but not for variables without values.
  [[nodiscard]] TRAINHOOK_DECL Recovered recover_session(const Open& open, const RestoreOptions& from);

  /// Opens sessions until one is ready, because another process has initialized it, and closes the others. Without
  /// `max_wait_secs` it waits forever.
  /// @throws DeadlineExceededError after `max_wait_secs`.
  [[nodiscard]] TRAINHOOK_DECL OwnedSession wait_for_session(const Open& open,
                                                             std::optional<Duration> max_wait_secs = std::nullopt);

  /// The result of the last restore.
  [[nodiscard]] const RestoreReport& report() const noexcept { return report_; }

 private:
  [[nodiscard]] TRAINHOOK_DECL FileSystem& file_system() const;
  [[nodiscard]] TRAINHOOK_DECL Clock& clock() const;
  TRAINHOOK_DECL static double seconds(Duration duration);

  // Opens, restores and calls `then(session, restored)`; closes the session if any of it throws.
  template <class Then>
  OwnedSession opened(const Open& open, const RestoreOptions& from, Then then);

  TRAINHOOK_DECL static void close_quietly(OwnedSession& owned) noexcept;

  // Waits until the next attempt; false if `max_wait` has passed since `begin`.
  TRAINHOOK_DECL bool pause(Duration begin, std::optional<Duration> max_wait) const;

  TRAINHOOK_DECL void restore(SessionRef session, const RestoreOptions& from);
  TRAINHOOK_DECL void restore_newest(SessionRef session, const RestoreOptions& from);
  [[nodiscard]] TRAINHOOK_DECL std::optional<std::string> try_restore(SessionRef session, const std::string& prefix,
                                                                      const RestoreOptions& from) const;
  // When it was written, and what this run does otherwise than the one that wrote it.
  [[nodiscard]] TRAINHOOK_DECL std::string about_the_writer(const Graph& graph, const std::string& prefix) const;
  TRAINHOOK_DECL std::vector<std::string> candidates_of(const Graph& graph, const RestoreOptions& from) const;
  TRAINHOOK_DECL static std::optional<std::string> why_not(const Graph& graph, const std::string& prefix);
  TRAINHOOK_DECL void initialize(SessionRef session, const InitOptions& init) const;

  // Why local variables could not be initialized, or nothing.
  TRAINHOOK_DECL std::optional<std::string> try_local_init(SessionRef session) const;

  TRAINHOOK_DECL std::optional<std::string> why_not_ready(SessionRef session) const;

  TRAINHOOK_DECL std::optional<std::string> why_not(SessionRef session, Output probe, bool with_local) const;
  TRAINHOOK_DECL static std::optional<std::string> variables_missing(SessionRef session, bool with_local);
  TRAINHOOK_DECL static std::string not_initialized(const std::vector<std::string>& names);

  SessionManagerOptions options_;
  RestoreReport report_;
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/monitored/impl/session_manager.ipp>
#endif
