// SPDX-License-Identifier: Apache-2.0
/// @file
/// monitored_training_session: a MonitoredSession with the hooks that nearly every training loop wants.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <trainhook/creation/chief_session_creator.hpp>
#include <trainhook/creation/worker_session_creator.hpp>
#include <trainhook/hooks/checkpoint_saver_hook.hpp>
#include <trainhook/hooks/step_counter_hook.hpp>
#include <trainhook/hooks/summary_saver_hook.hpp>
#include <trainhook/loop/loop_session.hpp>
#include <trainhook/monitored/monitored_session.hpp>

namespace trainhook {

/// A period that is given as zero or below switches its hook off.
struct MonitoredTrainingSessionOptions {
  bool is_chief = true;                            ///< false: a worker, which joins its chief's session; then only `master`, `hooks`,
                                                   ///< `max_wait_secs`, `retry`, `stop_grace_period_secs`, `file_system`, `clock` count
  std::shared_ptr<LocalMaster> master{};           ///< where chief and workers of one process meet; null: there are no workers
  std::string checkpoint_dir{};                    ///< restore from here and save to here; empty: neither
  std::shared_ptr<Scaffold> scaffold{};            ///< null: a new one with all defaults
  std::optional<Duration> save_checkpoint_secs{};  ///< neither period given: every 600 s, unless `hooks` has a CheckpointSaverHook
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
  Duration max_wait_secs = std::chrono::seconds(7200);   ///< how long a worker waits for its chief
  FileSystem* file_system = nullptr;                     ///< null: the machine's own
  Clock* clock = nullptr;                                ///< null: the machine's own
};

namespace detail {

// A period that counts: given and above zero.
template <class Period>
[[nodiscard]] std::optional<Period> if_positive(const std::optional<Period>& period) {
  return period && *period > Period{} ? period : std::nullopt;
}

// One hook has one period.
inline void require_one_period(std::string_view option, bool secs, bool steps) {
  if (!secs || !steps) return;
  throw InvalidArgumentError("monitored_training_session: ", option, "_secs and ", option, "_steps are both given; give one, or 0 for the other");
}

[[nodiscard]] inline bool has_checkpoint_saver(const HookList& hooks) {
  return std::ranges::any_of(hooks,
                             [](const HookEntry& hook) { return dynamic_cast<const CheckpointSaverHook*>(hook.get().get()) != nullptr; });
}

// TensorFlow's order: the chief's own, step counter, summaries, checkpoints, then the user's.
[[nodiscard]] inline HookList training_hooks(const MonitoredTrainingSessionOptions& options) {
  if (!options.is_chief) return options.hooks;
  HookList hooks = options.chief_only_hooks;
  const std::string& summary_dir = options.summary_dir.empty() ? options.checkpoint_dir : options.summary_dir;
  if (!summary_dir.empty() && options.log_step_count_steps > 0) {
    hooks.emplace_back(StepCounterHook({.every_n_steps = options.log_step_count_steps, .output_dir = summary_dir}));
  }
  auto summary_secs = if_positive(options.save_summaries_secs);
  auto summary_steps = if_positive(options.save_summaries_steps);
  if (!options.save_summaries_secs && !options.save_summaries_steps) summary_steps = 100;
  require_one_period("save_summaries", summary_secs.has_value(), summary_steps.has_value());
  if (!summary_dir.empty() && (summary_secs || summary_steps)) {
    hooks.emplace_back(SummarySaverHook(
        {.save_steps = summary_steps, .save_secs = summary_secs, .output_dir = summary_dir, .scaffold = options.scaffold}));
  }
  auto checkpoint_secs = if_positive(options.save_checkpoint_secs);
  const auto checkpoint_steps = if_positive(options.save_checkpoint_steps);
  if (!options.save_checkpoint_secs && !options.save_checkpoint_steps && !has_checkpoint_saver(options.hooks) &&
      !has_checkpoint_saver(options.chief_only_hooks))
    checkpoint_secs = std::chrono::seconds(600);
  require_one_period("save_checkpoint", checkpoint_secs.has_value(), checkpoint_steps.has_value());
  if (!options.checkpoint_dir.empty() && (checkpoint_secs || checkpoint_steps)) {
    hooks.emplace_back(CheckpointSaverHook({.checkpoint_dir = options.checkpoint_dir,
                                            .save_secs = checkpoint_secs,
                                            .save_steps = checkpoint_steps,
                                            .scaffold = options.scaffold,
                                            .save_graph_def = options.save_graph_def}));
  }
  hooks.insert(hooks.end(), options.hooks.begin(), options.hooks.end());
  return hooks;
}

template <SessionLike S>
[[nodiscard]] MonitoredSession<S> training_session(Graph& graph, SessionManager::Open open, MonitoredTrainingSessionOptions options) {
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

/// A session of engine `S` on `graph`, which must outlive it; `session_args` go to the engine's constructor behind the graph.
/// Restores the newest good checkpoint of `checkpoint_dir` or initializes; counts steps, saves summaries and checkpoints.
/// Source: TensorFlow's `MonitoredTrainingSession`.
template <SessionLike S, class... SessionArgs>
[[nodiscard]] MonitoredSession<S> monitored_training_session(Graph& graph, MonitoredTrainingSessionOptions options = {},
                                                             SessionArgs... session_args) {
  return detail::training_session<S>(
      graph, [&graph, session_args...] { return OwnedSession::make<S>(graph, session_args...); }, std::move(options));
}

/// The same around a loop of your own, which must outlive the session. @throws UnimplementedError for workers: a loop has one thread.
[[nodiscard]] inline MonitoredSession<LoopSession> monitored_training_session(LoopSession& loop,
                                                                              MonitoredTrainingSessionOptions options = {}) {
  if (!options.is_chief || options.master != nullptr)
    throw UnimplementedError("monitored_training_session: chief and workers cannot share a LoopSession; leave is_chief and master alone");
  return detail::training_session<LoopSession>(
      loop.graph(),
      [&loop] {
        loop.open();
        return OwnedSession{.owner = {}, .session = loop};
      },
      std::move(options));
}

}  // namespace trainhook
