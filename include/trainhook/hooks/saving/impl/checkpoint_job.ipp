// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/hooks/saving/checkpoint_job.hpp>

#include <algorithm>
#include <chrono>
#include <typeinfo>
#include <utility>

#include <trainhook/checkpoint/bundle/device_read.hpp>
#include <trainhook/checkpoint/run_record.hpp>
#include <trainhook/core/clock.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/core/names_in_messages.hpp>
#include <trainhook/core/shared.hpp>
#include <trainhook/core/user_call.hpp>
#include <trainhook/events/file_writer.hpp>
#include <trainhook/events/file_writer_cache.hpp>
#include <trainhook/events/session_log.hpp>
#include <trainhook/graph/global_step.hpp>
#include <trainhook/hooks/checkpoint_saver_listener.hpp>
#include <trainhook/hooks/scaffold.hpp>
#include <trainhook/io/file_system.hpp>
#include <trainhook/io/path.hpp>
#include <trainhook/io/whole_file.hpp>

namespace trainhook::detail {

/// Calls a listener and logs which one threw.
template <class Call>
decltype(auto) call_listener(const CheckpointSaverListener& listener, std::string_view callback, Call&& call) {
  return call_of_user(callback, short_type_name(typeid(listener)), call);
}

/// What a share of time needs beside the timer, which knows when a save is due at the latest.
inline SecondOrStepTimer::Options save_periods(std::string_view hook, const CheckpointSaverOptions& options) {
  const std::optional<double>& share = options.max_save_overhead;
  if (!share) {
    if (options.shortest_save_period || options.longest_save_period)
      throw InvalidArgumentError("{}: shortest_save_period and longest_save_period go with max_save_overhead", hook);
    return {.every_secs = options.save_secs, .every_steps = options.save_steps, .align = options.align_steps};
  }
  if (options.save_secs || options.save_steps || options.align_steps)
    throw InvalidArgumentError("{}: max_save_overhead and a period are both given; give one of them", hook);
  if (!(*share > 0 && *share < 1))
    throw InvalidArgumentError("{}: max_save_overhead is {}; it is a share of the time, such as 0.01 for 1 %", hook,
                               *share);
  const Duration longest = options.longest_save_period.value_or((Duration::max)());
  const Duration shortest = options.shortest_save_period.value_or(Duration());
  if (shortest < Duration::zero() || longest <= Duration::zero() || longest < shortest)
    throw InvalidArgumentError(
        "{}: shortest_save_period is {} and longest_save_period is {}; the first must not be negative, the second must "
        "be above 0, and not below the first",
        hook, duration_text(shortest), duration_text(longest));
  return {.every_secs = longest};
}

CheckpointJob::CheckpointJob(std::string_view hook, CheckpointSaverOptions options, SaveStart start)
    : hook_(hook),
      options_(std::move(options)),
      directory_(options_.checkpoint_dir),
      start_(start),
      timer_(save_periods(hook, options_), hook, "save_secs", "save_steps") {
  if (options_.saver != nullptr && options_.scaffold != nullptr) {
    throw InvalidArgumentError("{}: saver and scaffold are both given; give one of them", hook_);
  }
  expect_file_name(hook_, "checkpoint_basename", options_.checkpoint_basename);
  if (options_.tolerated_save_failures < 0) {
    throw InvalidArgumentError("{}: tolerated_save_failures is {}; it must not be negative", hook_,
                               options_.tolerated_save_failures);
  }
  for (const auto& listener : options_.listeners) {
    if (listener == nullptr) throw InvalidArgumentError("{}: a listener is null", hook_);
  }
}

std::int64_t CheckpointJob::global_step(SessionRef session) const { return read_global_step(session, global_step_); }

void CheckpointJob::begin(Graph& graph, SessionServices& services) {
  services_ = &services;
  global_step_ = require_global_step(graph, hook_);
  directory_ = options_.checkpoint_dir.empty() ? services.checkpoint_dir() : options_.checkpoint_dir;
  if (directory_.empty()) {
    throw InvalidArgumentError(
        "{}: checkpoint_dir is empty, and the session has none; give the directory that the checkpoints go to", hook_);
  }
  claim_.reset();
  claim_ = claim_checkpoints(graph, services,
                             {.directory = directory_,
                              .basename = options_.checkpoint_basename,
                              .hook = std::string(hook_),
                              .directory_lock = options_.directory_lock,
                              .save_graph_def = options_.save_graph_def,
                              .tolerates_failures = options_.tolerated_save_failures > 0,
                              .save_steps = options_.align_steps ? std::nullopt : options_.save_steps});
  timer_.reset();
  last_saved_.reset();
  stopped_at_.reset();
  saver_.reset();
  events_failure_ = nullptr;
  pending_.clear();
  described_ = vetoed_ = is_last_save_ = false;
  failures_ = vetoes_ = saves_ = 0;
  blocked_ = saved_at_ = {};
  is_in_progress_ = false;
  save_requests_ = services.num_save_requests();
  listeners_ = options_.listeners;
  for (const auto& listener : graph.collection<std::shared_ptr<CheckpointSaverListener>>(kSavingListeners)) {
    graph.remove_from_collection(kSavingListeners, listener);
    if (std::ranges::find(listeners_, listener) == listeners_.end()) listeners_.push_back(listener);
  }
  for (const auto& listener : listeners_) call_listener(*listener, "begin of listener", [&] { listener->begin(); });
}

bool CheckpointJob::is_restored(SessionRef session) {
  const std::int64_t step = global_step(session);
  const bool is_ours = read_from_device([&] {
    return is_checkpoint_of(services_->file_system(), services_->restored_from(), directory_,
                            options_.checkpoint_basename, step);
  });
  if (!is_ours) {  // saved at once, with the input of that step, which the first run would restore
    for (const auto& part : claim_->parts) part->restore(session, step, services_->restored_from());
    return false;
  }
  last_saved_ = step;
  timer_.update_last_triggered_step(step, services_->clock());
  saved_at_ = services_->clock().monotonic_now();
  return true;
}

void CheckpointJob::describe(SessionRef session) {
  if (described_) return;
  described_ = true;
  try {
    RunRecord record = run_record_of(session);
    if (!options_.save_command_line) record.command_line.clear();
    renew_run_record(services_->file_system(), directory_, std::move(record));
  } catch (const Error& error) { log_warning("{}: a later run will not know this one: {}", hook_, error); }
  if (const auto graph = GraphPartMaker::part_of(session)) {
    graph->write_once(session, *find_saver(session.graph()), *claim_, *services_);
    if (options_.save_graph_def) claim_->parts.push_back(graph);
  }
}

bool CheckpointJob::is_due(SessionRunContext& context) const {
  const bool is_requested = services_->num_save_requests() != save_requests_;
  services_->peers().expect_save(is_requested ? Peers::kAnyStep : timer_.next_step().value_or(Peers::kNoStep));
  if (is_requested) return true;
  if (!timer_.should_trigger_for_step(context.global_step(), context) && !is_cheap(context)) return false;
  return !timer_.uses_seconds() || services_->peers().agrees_to_save();  // this process's clock
}

bool CheckpointJob::is_cheap(SessionRunContext& context) const {
  if (!options_.max_save_overhead || is_in_progress_) return false;
  if (context.global_step() == timer_.last_triggered_step()) return false;
  const Duration since(context.now() - saved_at_);
  if (since < options_.shortest_save_period.value_or(Duration())) return false;
  const std::chrono::duration<double> cost = saves_ == 0 ? Duration() : Duration(blocked_ / saves_);
  return cost < *options_.max_save_overhead * (cost + since);
}

bool CheckpointJob::save_now(SessionRef session, std::int64_t step) {
  std::optional<Save> save = begin_save(session, step, Commit::AtOnce);
  if (!save) return false;
  const Duration started = services_->clock().monotonic_now();
  save->commit(true);
  note_wait(Duration(services_->clock().monotonic_now() - started));
  return finish_save(session, *save);
}

std::optional<Save> CheckpointJob::begin_save(SessionRef session, std::int64_t step, Commit when) {
  const Duration started = services_->clock().monotonic_now();
  const Saver& saver = *find_saver(session.graph());
  SaveMoment moment{.session = session,
                    .saver = &saver,
                    .prefix = saver.prefix_of({.save_path = save_path(), .global_step = step}),
                    .step = step,
                    .loop_waits = when == Commit::AtOnce};
  if (is_vetoed(moment)) return std::nullopt;
  ++saves_;
  const auto so_far = [&] { return Duration(services_->clock().monotonic_now() - started); };
  try {
    announce(session, step);
    Save save = take(moment);
    save.set_taken(so_far());
    note_wait(so_far());
    is_in_progress_ = when == Commit::Later;
    return save;
  } catch (...) {
    note_wait(so_far());
    fail(session, step, std::current_exception());
    return std::nullopt;
  }
}

void CheckpointJob::note_wait(Duration time) noexcept {
  blocked_ = Duration(blocked_ + time);
  saved_at_ = services_->clock().monotonic_now();
}

bool CheckpointJob::is_vetoed(SaveMoment& moment) {
  std::optional<std::string> reason = services_->save_veto();
  for (const auto& part : claim_->parts)
    if (!reason) reason = part->veto(moment);
  if (reason && !vetoed_) log_warning("{}: the model of step {} is not saved: {}", hook_, moment.step, *reason);
  vetoed_ = reason.has_value();
  if (!vetoed_) return false;
  ++vetoes_;
  veto_ = *std::move(reason);
  return true;
}

bool CheckpointJob::is_incomplete() const noexcept {
  return std::ranges::any_of(pending_, [](const auto& taken) { return !taken.expired(); }) &&
         std::ranges::any_of(claim_->parts, [](const auto& part) { return part->is_incomplete(); });
}

bool CheckpointJob::complete(std::optional<std::int64_t> step) {
  return !is_incomplete() || std::ranges::all_of(claim_->parts, [&](const auto& part) { return part->complete(step); });
}

void CheckpointJob::announce(SessionRef session, std::int64_t step) {
  timer_.update_last_triggered_step(step, services_->clock());
  save_requests_ = services_->num_save_requests();
  const auto log_saving = [&] { log_info("Saving checkpoints for {} into {}.", step, save_path()); };
  if (start_ == SaveStart::LogThenListeners) log_saving();
  services_->file_system().make_directories(directory_);
  for (const auto& listener : listeners_)
    call_listener(*listener, "before_save of listener", [&] { listener->before_save(session, step); });
  if (start_ == SaveStart::ListenersThenLog) log_saving();
}

Save CheckpointJob::take(const SaveMoment& moment) {
  SaveRequest request{.save_path = save_path(), .global_step = moment.step, .parts = claim_->take_parts(moment)};
  pending_.clear();
  for (const auto& part : request.parts)
    if (part->data_file() != nullptr) pending_.push_back(part);
  std::shared_ptr<const Snapshot> snapshot;
  if (!moment.loop_waits) {
    snapshot = call_in_context("saving " + moment.prefix, [&] {
      return make_shared_object<Snapshot>(saver_->snapshot(moment.session, request.parts));
    });
  }
  return {moment.step, [this, session = moment.session, saver = saver_, snapshot,
                        request = std::move(request)](SaveCost& cost) mutable {
            request.cost = &cost;
            claim_->confirm_directory(*request.global_step);
            flush_events();
            return snapshot ? saver->write(*snapshot, request) : saver->save(session, request);
          }};
}

void CheckpointJob::note_commit(const Save& save) {
  last_saved_ = save.step();
  failures_ = 0;
  if (!vetoed_) vetoes_ = 0;  // else a later save was vetoed while this one was written
  services_->note_save(save.prefix(), save.took());
}

void CheckpointJob::log_commit(const Save& save) {
  const auto& [blocked, written, synced, bytes] = save.cost();
  if (!save.prefix().empty()) log_info("Saved {}: {}.", save.prefix(), save.cost().to_string());
  FileWriter& writer = services_->writers().at(directory_);
  writer.add_session_log({.status = SessionLog::Checkpoint, .checkpoint_path = save.prefix()}, save.step());
  if (!options_.save_cost_summaries) return;
  const auto add_seconds = [&](const char* tag, Duration time) {
    writer.add_scalar(tag, std::chrono::duration<double>(time).count(), save.step());
  };
  add_seconds("checkpoint/blocked_secs", blocked);
  add_seconds("checkpoint/write_secs", written);
  add_seconds("checkpoint/sync_secs", synced);
  writer.add_scalar("checkpoint/bytes", static_cast<double>(bytes), save.step());
}

bool CheckpointJob::finish_save(SessionRef session, const Save& save) {
  const std::int64_t step = save.step();
  is_in_progress_ = false;
  if (save.error() != nullptr) {
    fail(session, step, save.error());
    return false;
  }
  note_commit(save);
  log_commit(save);
  bool stop = false;
  for (const auto& listener : listeners_)
    stop |= call_listener(*listener, "after_save of listener", [&] { return listener->after_save(session, step); });
  if (stop) stopped_at_ = step;
  return stop;
}

bool CheckpointJob::is_stopped_by_listener(SessionRef session) {
  if (stopped_at_ && *stopped_at_ > global_step(session)) stopped_at_.reset();  // it is asked again at its next save
  return stopped_at_.has_value();
}

void CheckpointJob::fail(SessionRef session, std::int64_t step, const std::exception_ptr& error) {
  tell_failure(session, step, error);
  if (++failures_ > options_.tolerated_save_failures || is_last_save_) std::rethrow_exception(error);
  log_error("{}: the checkpoint of step {} could not be saved: {}", hook_, step, trainhook::describe(error));
}

void CheckpointJob::tell_failure(SessionRef session, std::int64_t step, const std::exception_ptr& error) {
  for (const auto& listener : listeners_) {
    try {
      call_listener(*listener, "save_failed of listener", [&] { listener->save_failed(session, step, error); });
    } catch (...) {  // it is in the log
    }
  }
}

void CheckpointJob::abort_save(const Save& save) noexcept {
  const std::int64_t step = save.step();
  const std::exception_ptr& error = save.error();
  if (error != nullptr)
    log_error("{}: the checkpoint of step {} could not be saved: {}", hook_, step, trainhook::describe(error));
  const auto attempt = [&](auto&& act) {
    try {
      act();
    } catch (...) {
      log_error("{}: after the checkpoint of step {}: {}", hook_, step, trainhook::describe(std::current_exception()));
    }
  };
  if (error == nullptr) attempt([&] { note_commit(save); });
  const SessionRef session = services_->session();
  if (!session.has_value()) return;
  if (error != nullptr) return tell_failure(session, step, error);
  attempt([&] { log_commit(save); });
  for (const auto& listener : listeners_)
    attempt([&] {
      call_listener(*listener, "after_save of listener", [&] { return listener->after_save(session, step); });
    });
}

void CheckpointJob::end(SessionRef session) {
  const std::int64_t step = global_step(session);
  FirstError failure;
  failure.attempt([&] {
    if (last_saved_ != step) {
      is_last_save_ = true;
      save_now(session, step);
    } else {
      claim_->confirm_directory(step);
      find_saver(session.graph())->tidy(save_path());
      for (const auto& part : claim_->parts) part->tidy(step);
    }
  });
  for (const auto& listener : listeners_)
    failure.attempt([&] { call_listener(*listener, "end of listener", [&] { listener->end(session, step); }); });
  abort();
  failure.keep(std::exchange(events_failure_, nullptr));
  failure.rethrow();
}

void CheckpointJob::save_on_exception(SessionRef session) {
  const std::int64_t step = global_step(session);
  if (last_saved_ == step) return;
  is_last_save_ = true;
  save_now(session, step);
}

void CheckpointJob::abort() noexcept {
  claim_.reset();
  listeners_.clear();
  const int vetoes = std::exchange(vetoes_, 0);
  if (vetoes == 0) return;
  if (last_saved_) {
    log_warning(
        "{}: the newest checkpoint is that of step {}: hooks vetoed every save since ({}), the last one because: {}",
        hook_, *last_saved_, vetoes, veto_);
  } else {
    log_warning("{}: this run has no checkpoint: hooks vetoed every save ({}), the last one because: {}", hook_, vetoes,
                veto_);
  }
}

std::string CheckpointJob::save_path() const { return join_path(directory_, options_.checkpoint_basename); }

const std::shared_ptr<Saver>& CheckpointJob::find_saver(const Graph& graph) {
  if (saver_ != nullptr) return saver_;
  saver_ = options_.saver;
  if (saver_ == nullptr && options_.scaffold != nullptr) saver_ = options_.scaffold->saver();
  if (saver_ == nullptr) {
    const auto savers = graph.collection<std::shared_ptr<Saver>>(graph_keys::kSavers);
    if (savers.size() != 1 || savers.front() == nullptr) {
      throw FailedPreconditionError("{} in the collection 'savers'; give the {} a saver or a scaffold",
                                    savers.empty() ? "No items" : "More than one item", hook_);
    }
    saver_ = savers.front();
  }
  saver_->use(services_->file_system(), services_->clock());
  return saver_;
}

void CheckpointJob::flush_events() noexcept {
  try {
    services_->writers().flush();
  } catch (...) {
    events_failure_ = std::current_exception();
    log_error("{}: events could not be written before the checkpoint: {}", hook_, trainhook::describe(events_failure_));
  }
}

}  // namespace trainhook::detail
