// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of checkpoint_saver_hook.hpp.
#pragma once

#include <trainhook/hooks/checkpoint_saver_hook.hpp>

#include <trainhook/checkpoint/checkpoint_state.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/events/event.hpp>
#include <trainhook/events/file_writer.hpp>
#include <trainhook/events/file_writer_cache.hpp>
#include <trainhook/graph/graph_keys.hpp>
#include <trainhook/hooks/graph_export.hpp>
#include <trainhook/io/file_system.hpp>
#include <trainhook/io/path.hpp>
#include <trainhook/session/hook_services.hpp>
#include <trainhook/session/coordinator.hpp>

namespace trainhook {

TRAINHOOK_DECL void CheckpointSaverHook::begin(Graph& graph) {
  global_step_ = detail::require_global_step(graph, type_);
  claim_.reset();
  claim_ = claim_checkpoints(
      graph, services().file_system(),
      {.directory = options_.checkpoint_dir, .basename = options_.checkpoint_basename, .hook = std::string(type_)});
  timer_.reset();
  last_saved_.reset();
  saver_.reset();
  events_failure_ = nullptr;
  meta_graph_.clear();
  described_ = vetoed_ = false;
  failures_ = 0;
  for (const auto& listener : options_.listeners) listener->begin();
}

TRAINHOOK_DECL void CheckpointSaverHook::after_create_session(SessionRef session, Coordinator& coordinator) {
  const std::int64_t step = read_global_step(session, global_step_);
  if (is_restored(step)) {  // there is nothing to save, and what describes the graph waits for the first run
    last_saved_ = step;
    timer_.update_last_triggered_step(step, services().clock());
    return;
  }
  describe(session.graph());
  if (save(session, step)) coordinator.request_stop();
}

TRAINHOOK_DECL SessionRunArgs CheckpointSaverHook::before_run(SessionRunContext& context) {
  if (!described_) describe(context.session().graph());
  return {};
}

TRAINHOOK_DECL void CheckpointSaverHook::after_run(SessionRunContext& context, const SessionRunValues& /*values*/) {
  const std::int64_t step = context.global_step();
  if (timer_.should_trigger_for_step(step, context) && save(context.session(), step)) context.request_stop();
}

TRAINHOOK_DECL void CheckpointSaverHook::end(SessionRef session) {
  const std::int64_t step = read_global_step(session, global_step_);
  std::exception_ptr failure;
  const auto attempt = [&failure](auto&& act) {  // everything is done, and the first error is the one thrown
    try {
      act();
    } catch (...) {
      if (failure == nullptr) failure = std::current_exception();
    }
  };
  attempt([&] {
    if (last_saved_ != step) save_now(session, step);
  });
  for (const auto& listener : options_.listeners) attempt([&] { listener->end(session, step); });
  claim_.reset();
  if (failure == nullptr) failure = std::exchange(events_failure_, nullptr);
  if (failure != nullptr) std::rethrow_exception(failure);
}

TRAINHOOK_DECL CheckpointSaverHook::CheckpointSaverHook(Options options, std::string_view type)
    : options_(std::move(options)),
      type_(type),
      timer_({.every_secs = options_.save_secs, .every_steps = options_.save_steps, .align = options_.align_steps},
             type, "save_secs", "save_steps") {
  if (options_.checkpoint_dir.empty()) {
    throw InvalidArgumentError("{}: checkpoint_dir is empty; give the directory that the checkpoints go to", type_);
  }
  if (options_.saver != nullptr && options_.scaffold != nullptr) {
    throw InvalidArgumentError("{}: saver and scaffold are both given; give one of them", type_);
  }
  const std::string& basename = options_.checkpoint_basename;
  if (basename.empty() || basename.find('/') != std::string::npos) {
    throw InvalidArgumentError("{}: checkpoint_basename is '{}'; it must be a file name without directory", type_,
                               basename);
  }
  if (options_.tolerated_save_failures < 0) {
    throw InvalidArgumentError("{}: tolerated_save_failures is {}; it must not be negative", type_,
                               options_.tolerated_save_failures);
  }
  for (const auto& listener : options_.listeners) {
    if (listener == nullptr) throw InvalidArgumentError("{}: a listener is null", type_);
  }
}

TRAINHOOK_DECL bool CheckpointSaverHook::save_now(SessionRef session, std::int64_t step) {
  if (is_vetoed(step)) return false;
  mark_triggered(step);
  std::string prefix;
  try {
    announce(session, step);
    prefix = take(session, step)();
  } catch (...) {
    tell_failure(session, step, std::current_exception());
    return false;
  }
  return tell_committed(session, step, prefix);
}

TRAINHOOK_DECL bool CheckpointSaverHook::is_vetoed(std::int64_t step) {
  const std::optional<std::string> reason = services().save_veto();
  if (reason && !vetoed_) log_warning("{}: the model of step {} is not saved: {}", type_, step, *reason);
  vetoed_ = reason.has_value();
  return vetoed_;
}

TRAINHOOK_DECL void CheckpointSaverHook::mark_triggered(std::int64_t step) {
  timer_.update_last_triggered_step(step, services().clock());
}

TRAINHOOK_DECL void CheckpointSaverHook::log_saving(std::int64_t step) const {
  log_info("Saving checkpoints for {} into {}.", step,
           join_path(options_.checkpoint_dir, options_.checkpoint_basename));
}

TRAINHOOK_DECL void CheckpointSaverHook::tell_before_save(SessionRef session, std::int64_t step) {
  services().file_system().make_directories(options_.checkpoint_dir);
  for (const auto& listener : options_.listeners) listener->before_save(session, step);
}

TRAINHOOK_DECL std::function<std::string()> CheckpointSaverHook::take(SessionRef session, std::int64_t step) {
  std::vector<CheckpointCompanion::Commit> companions;
  if (claim_ != nullptr) {
    for (const auto& companion : claim_->companions) companions.push_back(companion->take(session, step));
  }
  SaveRequest request{.save_path = join_path(options_.checkpoint_dir, options_.checkpoint_basename),
                      .global_step = step};
  if (options_.save_graph_def) request.meta_graph = meta_graph_;
  const std::shared_ptr<Saver>& saver = find_saver(session.graph());
  return [this, saver, companions = std::move(companions), snapshot = saver->snapshot(session),
          request = std::move(request)] {
    flush_events();
    for (const CheckpointCompanion::Commit& companion : companions) companion.before_model();
    std::string prefix = saver->write(snapshot, request);
    for (const CheckpointCompanion::Commit& companion : companions) companion.after_model();
    return prefix;
  };
}

TRAINHOOK_DECL bool CheckpointSaverHook::tell_committed(SessionRef session, std::int64_t step,
                                                        const std::string& prefix) {
  last_saved_ = step;
  failures_ = 0;
  services()
      .writers()
      .at(options_.checkpoint_dir)
      .add_session_log({.status = SessionLog::Checkpoint, .checkpoint_path = prefix}, step);
  bool stop = false;
  for (const auto& listener : options_.listeners) stop |= listener->after_save(session, step);
  return stop;
}

TRAINHOOK_DECL void CheckpointSaverHook::tell_failure(SessionRef session, std::int64_t step,
                                                      const std::exception_ptr& error) {
  tell_no_save(session, step, error);
  if (++failures_ > options_.tolerated_save_failures) std::rethrow_exception(error);
  log_error("{}: the checkpoint of step {} could not be saved: {}", type_, step, trainhook::describe(error));
}

TRAINHOOK_DECL void CheckpointSaverHook::tell_no_save(SessionRef session, std::int64_t step,
                                                      const std::exception_ptr& error) {
  for (const auto& listener : options_.listeners) {
    try {
      listener->save_failed(session, step, error);
    } catch (...) {
      log_error("{}: a listener failed on hearing of a failed save: {}", type_,
                trainhook::describe(std::current_exception()));
    }
  }
}

TRAINHOOK_DECL const std::shared_ptr<Saver>& CheckpointSaverHook::find_saver(const Graph& graph) {
  if (saver_ == nullptr) {
    saver_ = options_.saver;
    if (saver_ == nullptr && options_.scaffold != nullptr) saver_ = options_.scaffold->saver();
    if (saver_ == nullptr) saver_ = only_saver(graph);
    saver_->use(services().file_system(), services().clock());
  }
  return saver_;
}

TRAINHOOK_DECL void CheckpointSaverHook::flush_events() noexcept {
  try {
    services().writers().flush();
  } catch (...) {
    events_failure_ = std::current_exception();
    log_error("{}: events could not be written before the checkpoint: {}", type_, trainhook::describe(events_failure_));
  }
}

TRAINHOOK_DECL bool CheckpointSaverHook::is_restored(std::int64_t step) const {
  return is_checkpoint_of(services().file_system(), services().restored_from(), options_.checkpoint_dir,
                          options_.checkpoint_basename, step);
}

TRAINHOOK_DECL void CheckpointSaverHook::describe(const Graph& graph) {
  if (described_) return;
  described_ = true;
  meta_graph_ = export_meta_graph_for(graph, find_saver(graph)->options());
  if (options_.save_graph_def) write_graph_text(services().file_system(), graph, options_.checkpoint_dir);
  add_graph_events(services().writers().at(options_.checkpoint_dir), graph, meta_graph_);
}

TRAINHOOK_DECL std::shared_ptr<Saver> CheckpointSaverHook::only_saver(const Graph& graph) const {
  const auto savers = graph.collection<std::shared_ptr<Saver>>(graph_keys::kSavers);
  if (savers.size() == 1 && savers.front() != nullptr) return savers.front();
  throw FailedPreconditionError("{} in the collection 'savers'; give the {} a saver or a scaffold",
                                savers.empty() ? "No items" : "More than one item", type_);
}

}  // namespace trainhook
