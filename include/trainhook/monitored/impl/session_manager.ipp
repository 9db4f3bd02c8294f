// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/monitored/session_manager.hpp>

#include <algorithm>
#include <exception>
#include <span>
#include <stop_token>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <trainhook/checkpoint/bundle/device_read.hpp>
#include <trainhook/checkpoint/checkpoint_claim.hpp>
#include <trainhook/checkpoint/checkpoint_files.hpp>
#include <trainhook/checkpoint/checkpoint_state.hpp>
#include <trainhook/checkpoint/run_record.hpp>
#include <trainhook/checkpoint/saver.hpp>
#include <trainhook/core/clock.hpp>
#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/function_ref.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/core/saveable.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/variable.hpp>
#include <trainhook/io/path.hpp>
#include <trainhook/io/posix_file_system.hpp>
#include <trainhook/session/coordinator.hpp>
#include <trainhook/session/run_forms.hpp>

namespace trainhook {

std::vector<std::string> report_uninitialized_variables(SessionRef session, bool with_local) {
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

}  // namespace trainhook

namespace trainhook::detail {

// Whether a hook saves the session: then it trains on.
inline bool is_saved(SessionRef session) { return !session.graph().offered<CheckpointClaim>().empty(); }

std::vector<std::string> restorable_checkpoints(FileSystem& file_system, const Graph& graph,
                                                const std::string& directory) {
  std::vector<std::string> candidates = read_from_device([&] { return checkpoint_candidates(file_system, directory); });
  const auto parts = graph.offered<CheckpointPart>();
  std::erase_if(candidates, [&](const std::string& prefix) {
    return std::ranges::any_of(parts, [&](const auto& part) { return part->is_mine(prefix); });
  });
  return candidates;
}

// The reason of the first part that excludes the checkpoint.
inline std::optional<std::string> why_excluded(const Graph& graph, const std::string& prefix) {
  for (const auto& part : graph.offered<CheckpointPart>()) {
    if (std::optional<std::string> reason = part->why_not(prefix)) return reason;
  }
  return std::nullopt;
}

inline void restore_by_rules(SessionRef session, const RestoreOptions& from, const CheckpointSource& checkpoint,
                             FunctionRef<void()> initialize) {
  from.restore->restore(session, *from.saver, checkpoint, from.checkpoint_dir, initialize);
}

inline std::string not_initialized(std::span<const std::string> names) {
  std::string text = "Variables not initialized: ";
  for (const std::string& name : names) text += (&name == &names.front() ? "" : ", ") + name;
  return text;
}

inline std::optional<std::string> variables_missing(SessionRef session, bool with_local) {
  const std::vector<std::string> names = report_uninitialized_variables(session, with_local);
  return names.empty() ? std::nullopt : std::optional<std::string>(not_initialized(names));
}

/// What `keep_initial` is about and has the program's value before the restore: all but a graph's variables.
inline std::vector<NamedTensor> initial_values(SessionRef session) {
  std::vector<std::string> names = session.graph().collection<std::string>(kKeptInitial);
  if (names.empty()) return {};
  for (const Variable& variable : global_variables(session.graph()))
    if (variable.initializer.has_value()) std::erase(names, variable.name());
  return session.snapshot(names);
}

/// Adds to what `run.pbtxt` says about restores.
inline void add_to_run_record(FileSystem& file_system, const std::string& directory, const std::string& note) try {
  RunRecord record = read_run_record(file_system, directory).value_or(RunRecord());
  record.restored += (record.restored.empty() ? "" : "; ") + note;
  write_run_record(file_system, directory, record);
} catch (const Error& error) { log_warning("run.pbtxt does not say what the program changed: {}", error); }

inline void close_unready(OwnedSession& owned) noexcept {
  try {
    owned.close();
  } catch (...) { log_warning("while a session that is not ready was closed: {}", describe(std::current_exception())); }
}

}  // namespace trainhook::detail

namespace trainhook {

template <class Then>
OwnedSession SessionManager::opened(const Open& open, const RestoreOptions& from, const InitOptions& init, Then then) {
  if (!from.checkpoint_dir.empty() && !from.checkpoint_filename_with_path.empty()) {
    throw InvalidArgumentError("checkpoint_dir '{}' and checkpoint_filename_with_path '{}' cannot both be given",
                               from.checkpoint_dir, from.checkpoint_filename_with_path.path());
  }
  report_ = {};
  OwnedSession owned = open();
  try {
    const auto initial = start_ ? std::vector<NamedTensor>() : detail::initial_values(owned.session);
    restore(owned.session, from, init);
    if (const std::string changed = keep_initial_values(owned.session, initial); !changed.empty()) {
      log_info("The program's values go before those of {}: {}.", report_.prefix, changed);
      if (!from.checkpoint_dir.empty())
        detail::add_to_run_record(*options_.file_system, from.checkpoint_dir,
                                  fmt::format("from {}: {}", report_.prefix, changed));
    }
    owned.restored_from = report_.prefix;
    then(owned.session, !report_.prefix.empty());
  } catch (...) {
    detail::close_unready(owned);
    throw;
  }
  return owned;
}

std::string SessionManager::keep_initial_values(SessionRef session, const std::vector<NamedTensor>& initial) {
  const Graph& graph = session.graph();
  const std::vector<std::string> names = graph.collection<std::string>(detail::kKeptInitial);
  if (names.empty() || !detail::is_saved(session)) return {};
  const std::string& checkpoint = report_.prefix;
  if (start_) {  // after a loss: a checkpoint that this run has written has the last word
    const bool is_of_before =
        !start_->checkpoint.empty() && step_of_checkpoint(checkpoint) <= step_of_checkpoint(start_->checkpoint);
    if (is_of_before) session.load(start_->values);
    return {};
  }
  Start start{.checkpoint = checkpoint};
  std::string differences;
  if (!checkpoint.empty()) {
    const std::vector<NamedTensor> saved = session.snapshot(names);
    session.load(initial);
    for (const Variable& variable : global_variables(graph)) {
      const bool is_kept = std::ranges::find(names, variable.name()) != names.end() &&
                           std::ranges::find(initial, variable.name(), &NamedTensor::name) == initial.end();
      if (is_kept && variable.initializer.has_value()) session.run(variable.initializer);
    }
    start.values = session.snapshot(names);
    for (std::size_t i = 0; i < names.size(); ++i) {
      const Tensor& here = start.values[i].tensor;
      if (here == saved[i].tensor) continue;
      differences += fmt::format("{}'{}' is {} here and was {} there", differences.empty() ? "" : ", ", names[i], here,
                                 saved[i].tensor);
    }
  }
  start_ = std::move(start);
  return differences;
}

SessionManager::SessionManager(SessionManagerOptions options) : options_(std::move(options)) {
  options_.file_system = &detail::given_or_posix(options_.file_system);
  options_.clock = &detail::given_or_system(options_.clock);
  if (options_.ready_for_local_init_op.has_value() && !options_.local_init_op.has_value()) {
    throw InvalidArgumentError(
        "SessionManager: ready_for_local_init_op is '{}'. "
        "If you pass a ready_for_local_init_op you must also pass a local_init_op",
        options_.ready_for_local_init_op.name());
  }
  if (options_.recovery_wait_secs <= Duration::zero()) {
    throw InvalidArgumentError("SessionManager: recovery_wait_secs is {}; it must be above 0",
                               std::chrono::duration<double>(options_.recovery_wait_secs).count());
  }
}

OwnedSession SessionManager::prepare_session(const Open& open, const RestoreOptions& from, const InitOptions& init) {
  return opened(open, from, init, [&](SessionRef session, bool restored) {
    if (!restored && from.restore != nullptr && !from.restore->from().empty()) {
      detail::restore_by_rules(session, from, from.restore->from(), [&] { initialize(session, init); });
    } else if (!restored) {
      initialize(session, init);
    }
    if (const auto why = try_local_init(session)) {
      throw FailedPreconditionError(
          "Init operations did not make model ready for local_init. {}; give them initial values or a checkpoint",
          *why);
    }
    if (const auto why = why_not(session, options_.ready_op, true)) {
      throw FailedPreconditionError(
          "Init operations did not make model ready. {}; give them initial values or a checkpoint", *why);
    }
  });
}

SessionManager::Recovered SessionManager::recover_session(const Open& open, const RestoreOptions& from) {
  Recovered result;
  result.session = opened(open, from, {}, [&](SessionRef session, bool restored) {
    const std::optional<std::string> no_local_init = try_local_init(session);
    if (!restored) return;
    const std::optional<std::string> why = no_local_init ? no_local_init : why_not(session, options_.ready_op, true);
    result.initialized = !why;
    if (why) log_info("restoring {} did not make the model ready: {}", report_.prefix, *why);
  });
  return result;
}

OwnedSession SessionManager::wait_for_session(const Open& open, std::optional<Duration> max_wait_secs) {
  const Duration begin = options_.clock->monotonic_now();
  for (;;) {
    std::optional<std::string> why;
    OwnedSession owned = opened(open, {}, {}, [&](SessionRef session, bool) {
      why = try_local_init(session);
      if (!why) why = why_not(session, options_.ready_op, true);
    });
    if (!why) return owned;
    detail::close_unready(owned);
    if (!pause(begin, max_wait_secs)) {
      throw DeadlineExceededError("Session was not ready after waiting {} secs. {}",
                                  std::chrono::duration<double>(*max_wait_secs).count(), *why);
    }
  }
}

bool SessionManager::pause(Duration begin, std::optional<Duration> max_wait) const {
  Duration wait = options_.recovery_wait_secs;
  if (max_wait) {
    const Duration waited = options_.clock->monotonic_now() - begin;
    if (waited >= *max_wait) return false;
    wait = (std::min<Duration>)(wait, *max_wait - waited);
  }
  detail::wait_for_stop(std::stop_token(), *options_.clock, options_.clock->monotonic_now() + wait);
  return true;
}

void SessionManager::restore(SessionRef session, const RestoreOptions& from, const InitOptions& init) {
  if (from.saver == nullptr) return;
  if (!from.checkpoint_filename_with_path.empty()) {
    if (from.restore != nullptr && from.restore->from().empty()) {
      detail::restore_by_rules(session, from, from.checkpoint_filename_with_path, [&] { initialize(session, init); });
    } else {
      from.saver->restore(session, from.checkpoint_filename_with_path, detail::is_saved(session));
    }
    report_.prefix = from.checkpoint_filename_with_path.path();
  } else if (!from.checkpoint_dir.empty()) {
    restore_newest(session, from, init);
  }
  if (detail::is_saved(session)) from.saver->report_left_over();
}

void SessionManager::restore_newest(SessionRef session, const RestoreOptions& from, const InitOptions& init) {
  const std::string& directory = from.checkpoint_dir;
  const std::vector<std::string> candidates = candidates_of(session.graph(), from);
  for (const std::string& prefix : candidates) {
    const std::optional<std::string> damage = try_restore(session, prefix, from, init);
    if (!damage) {
      report_.prefix = prefix;
      log_info("Restored {}.{}", prefix, about_the_writer(session, prefix));
      return;
    }
    log_warning("checkpoint {} is skipped: {}", prefix, *damage);
    report_.skipped.push_back(fmt::format("{}: {}", prefix, *damage));
  }
  if (candidates.empty()) return;
  throw DataLossError(
      "none of the {} checkpoints in {} can be restored; "
      "repair one, or train into an empty directory. The newest is {}",
      candidates.size(), directory, report_.skipped.front());
}

std::optional<std::string> SessionManager::try_restore(SessionRef session, const std::string& prefix,
                                                       const RestoreOptions& from, const InitOptions& init) const {
  if (!detail::read_from_device([&] { return checkpoint_exists(*options_.file_system, prefix); }))
    return fmt::format("the state file lists it, but {}.index does not exist", prefix);
  if (const std::optional<std::string> reason = detail::why_excluded(session.graph(), prefix)) return reason;
  std::exception_ptr in_init;  // which is not about the checkpoint, whatever it is
  try {
    if (from.restore != nullptr && from.restore->from().empty()) {
      detail::restore_by_rules(session, from, prefix, [&] {
        try {
          initialize(session, init);
        } catch (...) {
          in_init = std::current_exception();
          throw;
        }
      });
    } else {
      from.saver->restore(session, prefix, detail::is_saved(session));
    }
  } catch (const DataLossError& error) {
    if (in_init) std::rethrow_exception(in_init);
    return error.what();
  } catch (const Error&) { throw; } catch (...) {  // of a function of the program, and its message names no checkpoint
    log_error("checkpoint {} was not restored, and no other one is tried: {}", prefix,
              describe(std::current_exception()));
    throw;
  }
  return std::nullopt;
}

std::string SessionManager::about_the_writer(SessionRef session, const std::string& prefix) const try {
  std::string text;
  const double age = options_.clock->wall_seconds() - options_.file_system->modification_time(prefix + ".index");
  if (age >= 0) text = fmt::format(" It was written {} ago", duration_text(std::chrono::duration<double>(age)));
  if (const auto writer = detail::read_run_record(*options_.file_system, parent_path(prefix))) {
    if (const std::string other = writer->differences(detail::run_record_of(session)); !other.empty())
      text += fmt::format("{} by a run that differs: {}", text.empty() ? " It was written" : "", other);
  }
  return text.empty() ? text : text + ".";
} catch (const Error& error) { return fmt::format(" What wrote it cannot be read: {}.", error.what()); }

std::vector<std::string> SessionManager::candidates_of(const Graph& graph, const RestoreOptions& from) const {
  const Duration begin = options_.clock->monotonic_now();
  for (;;) {
    std::vector<std::string> candidates =
        detail::restorable_checkpoints(*options_.file_system, graph, from.checkpoint_dir);
    if (from.restore != nullptr) {  // what the rules begin with may lie beside, and is no checkpoint of this run
      const std::string begins_with = detail::plain_path(from.restore->from().path());
      std::erase_if(candidates, [&](const std::string& prefix) {
        return !step_of_checkpoint(prefix) && detail::plain_path(prefix) == begins_with;
      });
    }
    if (!candidates.empty() || !from.wait_for_checkpoint || !pause(begin, from.max_wait_secs)) return candidates;
    log_info("waiting for a checkpoint in {}", from.checkpoint_dir);
  }
}

void SessionManager::initialize(SessionRef session, const InitOptions& init) const {
  if (!init.init_op.has_value() && !init.init_fn && !options_.local_init_op.has_value()) {
    if (const auto why = detail::variables_missing(session, false)) {
      throw FailedPreconditionError(
          "Model is not initialized and no init_op or init_fn "
          "or local_init_op was given, nor is there a checkpoint. {}",
          *why);
    }
  }
  if (init.init_op.has_value()) session.run(init.init_op, init.init_feed_dict);
  if (init.init_fn) init.init_fn(session);
}

std::optional<std::string> SessionManager::try_local_init(SessionRef session) const {
  if (!options_.local_init_op.has_value()) return std::nullopt;
  if (auto why = why_not(session, options_.ready_for_local_init_op, false)) return why;
  session.run(options_.local_init_op, options_.local_init_feed_dict,
              options_.local_init_run_options ? &*options_.local_init_run_options : nullptr);
  return std::nullopt;
}

std::optional<std::string> SessionManager::why_not(SessionRef session, Output probe, bool with_local) const {
  if (!probe.has_value()) return options_.ask_session ? detail::variables_missing(session, with_local) : std::nullopt;
  try {
    const Tensor names = session.run(probe);
    if (names.dtype() != DType::String || names.num_elements() == 0) return std::nullopt;
    return detail::not_initialized(names.data<std::string>());
  } catch (const FailedPreconditionError& error) {
    if (std::string_view(error.what()).find("uninitialized") != std::string_view::npos)
      return std::string(error.what());
    log_warning("'{}', which tells whether the model is ready, failed: {}", probe.name(), error.what());
    throw;
  }
}

}  // namespace trainhook
