// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/monitored/monitored_training_session.hpp>

#include <algorithm>
#include <exception>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <trainhook/checkpoint/bundle/device_read.hpp>
#include <trainhook/checkpoint/checkpoint_state.hpp>
#include <trainhook/checkpoint/directory_hold.hpp>
#include <trainhook/checkpoint/saver.hpp>
#include <trainhook/core/clock.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/core/shared.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/hooks/checkpoint_saver_hook.hpp>
#include <trainhook/hooks/scaffold.hpp>
#include <trainhook/hooks/signal_hook.hpp>
#include <trainhook/hooks/step_counter_hook.hpp>
#include <trainhook/hooks/summary_saver_hook.hpp>
#include <trainhook/io/file_system.hpp>
#include <trainhook/io/path.hpp>
#include <trainhook/io/posix_file_system.hpp>
#include <trainhook/monitored/chief_session_creator.hpp>
#include <trainhook/monitored/session_peers.hpp>

namespace trainhook::detail {

// Does what `on_existing` says, before a session is created. @throws FailedPreconditionError if another process
// currently saves to the directory.
inline void prepare_directory(const MonitoredTrainingSessionOptions& options) {
  const std::string& directory = options.checkpoint_dir;
  if (options.on_existing == OnExisting::Resume || directory.empty()) return;
  FileSystem& file_system = given_or_posix(options.file_system);
  const std::vector<std::string> found =
      read_from_device([&] { return checkpoint_candidates(file_system, directory); });
  if (found.empty()) return;
  if (options.on_existing == OnExisting::Fail) {
    throw AlreadyExistsError(
        "{} holds a run already, with checkpoint {}: "
        "train into another directory, or set on_existing to Resume or StartFresh",
        directory, found.front());
  }
  if (options.directory_lock == DirectoryLock::Auto) {
    const DirectoryHold is_free(file_system, directory, given_or_system(options.clock));
  }
  const std::string plain = plain_path(directory);
  const std::string target = file_system.resolve(plain).path;
  if (target.empty()) {
    throw FailedPreconditionError(
        "on_existing = StartFresh renames the directory of the earlier run, and '{}' is the current directory; train "
        "into a directory below it",
        directory);
  }
  int number = 1;
  while (file_system.exists(fmt::format("{}.{}", target, number))) ++number;
  const std::string earlier = fmt::format("{}.{}", target, number);
  try {
    file_system.rename(target, earlier);
    file_system.sync_directory(parent_path(target));
    if (target != plain) file_system.make_directories(target);  // so that the link leads to something
  } catch (const Error& error) {
    throw_error(error.code(), fmt::format("on_existing = StartFresh renames the directory of the earlier run, which "
                                          "failed; train into a directory below it: {}",
                                          error.what()));
  }
  log_info("The earlier run in {} is in {} now; this one starts fresh.", directory, earlier);
}

// A period that counts: given and above zero.
template <class Period>
[[nodiscard]] std::optional<Period> if_positive(const std::optional<Period>& period) {
  return period && *period > Period{} ? period : std::nullopt;
}

// One hook has one period.
inline void require_one_period(std::string_view option, bool secs, bool steps) {
  if (!secs || !steps) return;
  throw InvalidArgumentError(
      "monitored_training_session: {}_secs and {}_steps are both given; give one, or 0 for the other", option, option);
}

bool has_checkpoint_saver(const HookList& hooks) {
  return std::ranges::any_of(hooks, [](const HookEntry& hook) {
    return dynamic_cast<const CheckpointSaverHook*>(hook.get().get()) != nullptr;
  });
}

// In TensorFlow's order: the chief's own, step counter, summaries, checkpoints, then the user's.
inline HookList training_hooks(const MonitoredTrainingSessionOptions& options,
                               const std::shared_ptr<Scaffold>& scaffold) {
  HookList hooks = options.chief_only_hooks;
  const std::string& summary_dir = options.summary_dir.empty() ? options.checkpoint_dir : options.summary_dir;
  if (!summary_dir.empty() && options.log_step_count_steps > 0) {
    hooks.push_back(StepCounterHook({.every_n_steps = options.log_step_count_steps, .output_dir = summary_dir}));
  }
  auto summary_secs = if_positive(options.save_summaries_secs);
  auto summary_steps = if_positive(options.save_summaries_steps);
  if (!options.save_summaries_secs && !options.save_summaries_steps) summary_steps = 100;
  require_one_period("save_summaries", summary_secs.has_value(), summary_steps.has_value());
  if (!summary_dir.empty() && (summary_secs || summary_steps)) {
    hooks.push_back(SummarySaverHook(
        {.save_steps = summary_steps, .save_secs = summary_secs, .output_dir = summary_dir, .scaffold = scaffold}));
  }
  auto checkpoint_secs = if_positive(options.save_checkpoint_secs);
  const auto checkpoint_steps = if_positive(options.save_checkpoint_steps);
  const bool has_saver = has_checkpoint_saver(options.hooks) || has_checkpoint_saver(options.chief_only_hooks);
  const bool has_share = options.max_save_overhead.has_value();
  if (!options.save_checkpoint_secs && !options.save_checkpoint_steps && !has_saver && !has_share)
    checkpoint_secs = std::chrono::seconds(600);
  require_one_period("save_checkpoint", checkpoint_secs.has_value(), checkpoint_steps.has_value());
  const bool saves = !options.checkpoint_dir.empty() && (checkpoint_secs || checkpoint_steps || has_share);
  if (!saves && (has_share || options.save_on_exception)) {
    throw InvalidArgumentError(
        "monitored_training_session: {} is for the saver that it makes, and it makes none: {}",
        has_share ? "max_save_overhead" : "save_on_exception",
        options.checkpoint_dir.empty() ? "give a checkpoint_dir" : "give it to the saver hook among the hooks");
  }
  if (saves) {
    hooks.push_back(CheckpointSaverHook({.checkpoint_dir = options.checkpoint_dir,
                                         .save_secs = checkpoint_secs,
                                         .save_steps = checkpoint_steps,
                                         .max_save_overhead = options.max_save_overhead,
                                         .shortest_save_period = options.shortest_save_period,
                                         .longest_save_period = options.longest_save_period,
                                         .scaffold = scaffold,
                                         .save_graph_def = options.save_graph_def,
                                         .save_command_line = options.save_command_line,
                                         .save_on_exception = options.save_on_exception,
                                         .directory_lock = options.directory_lock}));
  }
  hooks.insert(hooks.end(), options.hooks.begin(), options.hooks.end());
  return hooks;
}

// A scaffold takes the saver of this collection.
inline void use_keep(Graph& graph, const MonitoredTrainingSessionOptions& options) {
  if (!options.max_to_keep && options.keep.empty()) return;
  if (options.max_to_keep && !options.keep.empty())
    throw InvalidArgumentError(
        "monitored_training_session: max_to_keep and keep are both given; give the rules alone, with a LatestN");
  if (options.scaffold != nullptr) {
    throw InvalidArgumentError(
        "monitored_training_session: {0} is given, and there is a scaffold; give that a Saver with this {0}",
        options.max_to_keep ? "max_to_keep" : "keep");
  }
  if (!graph.collection<std::shared_ptr<Saver>>(graph_keys::kSavers).empty()) return;
  SaverOptions saver{.keep = options.keep};
  saver.max_to_keep = options.max_to_keep.value_or(saver.max_to_keep);
  graph.add_to_collection(graph_keys::kSavers, make_shared_object<Saver>(std::move(saver)));
}

// What is thrown before the session begins reaches the peers, too.
SessionHandle start_training(Graph& graph, SessionOpener open, const MonitoredTrainingSessionOptions& options) {
  const auto peers = options.peers != nullptr ? options.peers : make_shared_object<SessionPeers>();
  try {
    refuse_if_interrupted(options.hooks);
    if (peers->is_chief()) refuse_if_interrupted(options.chief_only_hooks);
    peers->expect_same_options(options);
    if (peers->is_chief()) prepare_directory(options);
    use_keep(graph, options);
    const auto scaffold = options.scaffold != nullptr ? options.scaffold : make_shared_object<Scaffold>();
    ChiefSessionCreatorOptions creator_options{.scaffold = scaffold,
                                               .checkpoint_dir = options.checkpoint_dir,
                                               .restore = options.restore,
                                               .file_system = options.file_system,
                                               .clock = options.clock};
    const auto alone = make_shared_object<ChiefSessionCreator>(graph, std::move(open), std::move(creator_options));
    return {peers->creator(alone),
            {.hooks = peers->is_chief() ? training_hooks(options, scaffold) : options.hooks,
             .checkpoint_dir = options.checkpoint_dir,
             .peers = peers,
             .stop_grace_period_secs = options.stop_grace_period_secs,
             .retry = options.retry,
             .event_errors = options.event_errors,
             .file_system = options.file_system,
             .clock = options.clock}};
  } catch (...) {
    peers->fail(std::current_exception(), options.stop_grace_period_secs);
    throw;
  }
}

}  // namespace trainhook::detail

namespace trainhook {

MonitoredSession<LoopSession> monitored_training_session(LoopSession& loop,
                                                         const MonitoredTrainingSessionOptions& options) {
  if (options.peers != nullptr && options.peers->shares_session())
    throw UnimplementedError(
        "monitored_training_session: chief and workers cannot share a LoopSession, which one thread runs");
  return MonitoredSession<LoopSession>(detail::start_training(
      loop.graph(),
      [&loop] {
        loop.open();
        return OwnedSession{.owner = {}, .session = loop};
      },
      options));
}

}  // namespace trainhook
