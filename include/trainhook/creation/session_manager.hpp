// SPDX-License-Identifier: Apache-2.0
/// @file
/// SessionManager: brings a new session to life from the newest good checkpoint, or from initial values.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <trainhook/checkpoint/checkpoint_state.hpp>
#include <trainhook/checkpoint/restore_condition.hpp>
#include <trainhook/checkpoint/saver.hpp>
#include <trainhook/creation/session_creator.hpp>
#include <trainhook/session/coordinator.hpp>

namespace trainhook {

/// What a restore did.
struct RestoreReport {
  std::string prefix{};                ///< the checkpoint that was restored; empty: none
  std::vector<std::string> skipped{};  ///< newer ones that were not, each with the reason
};

/// Where a model comes from when it is not initialized.
struct RestoreOptions {
  std::shared_ptr<Saver> saver{};                       ///< null: nothing is restored
  std::string checkpoint_dir{};                         ///< its newest good checkpoint
  std::string checkpoint_filename_with_path{};          ///< or exactly this one
  bool wait_for_checkpoint = false;                     ///< where the directory has none yet: wait for one
  Duration max_wait_secs = std::chrono::seconds(7200);  ///< how long at most
};

/// What is done where nothing was restored.
struct InitOptions {
  Operation init_op{};
  FeedDict init_feed_dict{};                  ///< feeds for `init_op`
  std::function<void(SessionRef)> init_fn{};  ///< called after `init_op`
};

struct SessionManagerOptions {
  Operation local_init_op{};        ///< run in every new session, also a restored one
  FeedDict local_init_feed_dict{};  ///< feeds for it
  std::optional<RunOptions> local_init_run_options{};
  Output ready_op{};                                       ///< string vector of what is not ready; none: always ready
  Output ready_for_local_init_op{};                        ///< the same, asked before `local_init_op`
  bool ask_session = false;                                ///< for the two where not given: ask for variables without a value
  Duration recovery_wait_secs = std::chrono::seconds(30);  ///< between two looks at what is waited for
  FileSystem* file_system = nullptr;                       ///< null: the machine's own
  Clock* clock = nullptr;                                  ///< null: the machine's own
};

/// The variables that have no value yet: the session's own and, if asked for, those of the graph's collection of local variables.
/// Source: TensorFlow's op of this name; asked of the session, so that it needs no nodes.
[[nodiscard]] inline std::vector<std::string> report_uninitialized_variables(SessionRef session, bool with_local = true) {
  std::vector<std::string> names;
  for (const StateSpec& spec : session.state()) {
    if (spec.kind == StateKind::Variable && !spec.initialized) names.push_back(spec.name);
  }
  if (!with_local) return names;
  for (const Variable& variable : local_variables(session.graph())) {
    try {
      session.run(variable.read);
    } catch (const FailedPreconditionError& error) {
      if (std::string_view(error.what()).find("uninitialized") == std::string_view::npos) throw;
      names.push_back(variable.name());
    }
  }
  return names;
}

namespace detail {

/// The checkpoints of a directory that a model of `graph` can come from, best first.
inline std::vector<std::string> restorable_checkpoints(FileSystem& file_system, const Graph& graph, const std::string& directory) {
  std::vector<std::string> candidates = checkpoint_candidates(file_system, directory);
  const auto conditions = graph.collection<RestoreCondition>(kRestoreConditions);
  std::erase_if(candidates, [&](const std::string& prefix) {
    return std::ranges::any_of(conditions,
                               [&](const RestoreCondition& condition) { return condition.is_other && condition.is_other(prefix); });
  });
  return candidates;
}

}  // namespace detail

/// Prepares sessions for running. Source: TensorFlow's `SessionManager`; a damaged checkpoint makes it step back to an older one, waiting
/// ends at the deadline, and a session that comes to nothing is closed.
class SessionManager {
 public:
  /// Makes a raw session of the graph, without values.
  using Open = std::function<OwnedSession()>;

  /// @throws InvalidArgumentError for a `ready_for_local_init_op` without a `local_init_op`, or a wait that is not positive.
  explicit SessionManager(SessionManagerOptions options = {}) : options_(std::move(options)) {
    if (options_.ready_for_local_init_op.has_value() && !options_.local_init_op.has_value()) {
      throw InvalidArgumentError("SessionManager: ready_for_local_init_op is '", options_.ready_for_local_init_op.name(),
                                 "'. If you pass a ready_for_local_init_op you must also pass a local_init_op");
    }
    if (options_.recovery_wait_secs <= Duration::zero()) {
      throw InvalidArgumentError("SessionManager: recovery_wait_secs is ", seconds(options_.recovery_wait_secs), "; it must be above 0");
    }
  }

  /// Opens a session and gives its variables values: from the directory's newest good checkpoint, or from the file named, else by `init_op`
  /// and `init_fn`; then local variables by `local_init_op`.
  /// @throws InvalidArgumentError where both places are given; FailedPreconditionError where variables are left without values;
  /// DataLossError where a directory has checkpoints and none of them is good.
  [[nodiscard]] OwnedSession prepare_session(const Open& open, const RestoreOptions& from = {}, const InitOptions& init = {}) {
    return opened(open, from, [&](SessionRef session, bool restored) {
      if (!restored) initialize(session, init);
      if (const auto why = try_local_init(session)) {
        throw FailedPreconditionError("Init operations did not make model ready for local_init. ", *why,
                                      "; give them initial values or a checkpoint");
      }
      if (const auto why = why_not_ready(session)) {
        throw FailedPreconditionError("Init operations did not make model ready. ", *why, "; give them initial values or a checkpoint");
      }
    });
  }

  struct Recovered {
    OwnedSession session{};
    bool initialized = false;  ///< whether it was restored and is ready
  };

  /// Opens a session, restores it where there is a checkpoint, and runs `local_init_op`; never `init_op`.
  /// @throws as `prepare_session`, but not where variables are left without values.
  [[nodiscard]] Recovered recover_session(const Open& open, const RestoreOptions& from) {
    Recovered result;
    result.session = opened(open, from, [&](SessionRef session, bool restored) {
      const std::optional<std::string> no_local_init = try_local_init(session);
      if (!restored) return;
      const std::optional<std::string> why = no_local_init ? no_local_init : why_not_ready(session);
      result.initialized = !why;
      if (why) log_info("restoring ", report_.prefix, " did not make the model ready: ", *why);
    });
    return result;
  }

  /// Opens sessions until one is ready, which somebody else brings about, and closes those that are not.
  /// @throws DeadlineExceededError after `max_wait_secs`; nothing there waits for ever.
  [[nodiscard]] OwnedSession wait_for_session(const Open& open, std::optional<Duration> max_wait_secs = std::nullopt) {
    const Duration begin = clock().monotonic_now();
    for (;;) {
      std::optional<std::string> why;
      OwnedSession owned = opened(open, {}, [&](SessionRef session, bool) {
        why = try_local_init(session);
        if (!why) why = why_not_ready(session);
      });
      if (!why) return owned;
      close_quietly(owned);
      if (!pause(begin, max_wait_secs)) {
        throw DeadlineExceededError("Session was not ready after waiting ", seconds(*max_wait_secs), " secs. ", *why);
      }
    }
  }

  /// What the last call restored.
  [[nodiscard]] const RestoreReport& report() const noexcept { return report_; }

 private:
  [[nodiscard]] FileSystem& file_system() const { return options_.file_system != nullptr ? *options_.file_system : posix_file_system(); }
  [[nodiscard]] Clock& clock() const { return options_.clock != nullptr ? *options_.clock : system_clock(); }
  static double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

  // Opens, restores and calls `then(session, restored)`; closes the session again where any of it throws.
  template <class Then>
  OwnedSession opened(const Open& open, const RestoreOptions& from, Then then) {
    if (!from.checkpoint_dir.empty() && !from.checkpoint_filename_with_path.empty()) {
      throw InvalidArgumentError("checkpoint_dir '", from.checkpoint_dir, "' and checkpoint_filename_with_path '",
                                 from.checkpoint_filename_with_path, "' cannot both be given");
    }
    report_ = {};
    OwnedSession owned = open();
    try {
      restore(owned.session, from);
      owned.restored_from = report_.prefix;
      then(owned.session, !report_.prefix.empty());
    } catch (...) {
      close_quietly(owned);
      throw;
    }
    return owned;
  }

  static void close_quietly(OwnedSession& owned) noexcept {
    try {
      owned.close();
    } catch (...) {
      log_warning("while a session that is not ready was closed: ", describe(std::current_exception()));
    }
  }

  // Waits for the next look; false when `max_wait` has passed since `begin`.
  bool pause(Duration begin, std::optional<Duration> max_wait) const {
    Duration wait = options_.recovery_wait_secs;
    if (max_wait) {
      const Duration waited = clock().monotonic_now() - begin;
      if (waited >= *max_wait) return false;
      wait = (std::min)(wait, *max_wait - waited);
    }
    wait_for_stop(std::stop_token(), clock(), deadline_after(clock(), wait));
    return true;
  }

  void restore(SessionRef session, const RestoreOptions& from) {
    if (from.saver == nullptr) return;
    if (!from.checkpoint_filename_with_path.empty()) {
      from.saver->restore(session, from.checkpoint_filename_with_path);
      report_.prefix = from.checkpoint_filename_with_path;
    } else if (!from.checkpoint_dir.empty()) {
      restore_newest(session, from);
    }
  }

  void restore_newest(SessionRef session, const RestoreOptions& from) {
    const std::string& directory = from.checkpoint_dir;
    const std::vector<std::string> candidates = candidates_of(session.graph(), from);
    for (const std::string& prefix : candidates) {
      try {
        if (!file_system().exists(prefix + ".index")) throw DataLossError("the state file lists it, but ", prefix, ".index does not exist");
        if (const std::optional<std::string> reason = why_not(session.graph(), prefix)) throw DataLossError(prefix, ": ", *reason);
        from.saver->restore(session, prefix);
        report_.prefix = prefix;
        log_info("Restored ", prefix, ".");
        return;
      } catch (const DataLossError& error) {
        log_warning("checkpoint ", prefix, " is skipped: ", error.what());
        report_.skipped.push_back(str_cat(prefix, ": ", error.what()));
      }
    }
    if (candidates.empty()) return;
    throw DataLossError("none of the ", candidates.size(), " checkpoints in ", directory,
                        " can be restored; repair one, or train into an empty directory. The newest is ", report_.skipped.front());
  }

  std::vector<std::string> candidates_of(const Graph& graph, const RestoreOptions& from) const {
    const Duration begin = clock().monotonic_now();
    for (;;) {
      std::vector<std::string> candidates = detail::restorable_checkpoints(file_system(), graph, from.checkpoint_dir);
      if (!candidates.empty() || !from.wait_for_checkpoint || !pause(begin, from.max_wait_secs)) return candidates;
      log_info("waiting for a checkpoint in ", from.checkpoint_dir);
    }
  }

  static std::optional<std::string> why_not(const Graph& graph, const std::string& prefix) {
    for (const RestoreCondition& condition : graph.collection<RestoreCondition>(kRestoreConditions)) {
      if (std::optional<std::string> reason = condition.why_not(prefix)) return reason;
    }
    return std::nullopt;
  }

  void initialize(SessionRef session, const InitOptions& init) const {
    if (!init.init_op.has_value() && !init.init_fn && !options_.local_init_op.has_value()) {
      if (const auto why = variables_missing(session, false)) {
        throw FailedPreconditionError(
            "Model is not initialized and no init_op or init_fn or local_init_op was given, nor is there a checkpoint. ", *why);
      }
    }
    if (init.init_op.has_value()) session.run(init.init_op, init.init_feed_dict);
    if (init.init_fn) init.init_fn(session);
  }

  // Why local variables could not be initialized, or nothing.
  std::optional<std::string> try_local_init(SessionRef session) const {
    if (!options_.local_init_op.has_value()) return std::nullopt;
    if (auto why = why_not(session, options_.ready_for_local_init_op, false)) return why;
    session.run(options_.local_init_op, options_.local_init_feed_dict,
                options_.local_init_run_options ? &*options_.local_init_run_options : nullptr);
    return std::nullopt;
  }

  std::optional<std::string> why_not_ready(SessionRef session) const { return why_not(session, options_.ready_op, true); }

  std::optional<std::string> why_not(SessionRef session, Output probe, bool with_local) const {
    if (!probe.has_value()) return options_.ask_session ? variables_missing(session, with_local) : std::nullopt;
    try {
      const Tensor names = session.run(probe);
      if (names.dtype() != DType::String || names.num_elements() == 0) return std::nullopt;
      const auto missing = names.data<std::string>();
      return not_initialized({missing.begin(), missing.end()});
    } catch (const FailedPreconditionError& error) {
      if (std::string_view(error.what()).find("uninitialized") != std::string_view::npos) return std::string(error.what());
      log_warning("'", probe.name(), "', which tells whether the model is ready, failed: ", error.what());
      throw;
    }
  }

  static std::optional<std::string> variables_missing(SessionRef session, bool with_local) {
    const std::vector<std::string> names = report_uninitialized_variables(session, with_local);
    return names.empty() ? std::nullopt : std::optional<std::string>(not_initialized(names));
  }

  static std::string not_initialized(const std::vector<std::string>& names) {
    std::string text = "Variables not initialized: ";
    for (const std::string& name : names) text += (&name == &names.front() ? "" : ", ") + name;
    return text;
  }

  SessionManagerOptions options_;
  RestoreReport report_;
};

}  // namespace trainhook
