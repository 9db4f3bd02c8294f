// SPDX-License-Identifier: Apache-2.0
/// @file
/// HookServices: the disk, clock, event writers and metrics that the hooks of a session share.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <trainhook/core/duration.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/process_mark.hpp>
#include <trainhook/session/metric.hpp>
#include <trainhook/session/peers.hpp>
#include <trainhook/session/session_ref.hpp>

namespace trainhook {

class Clock;
class FileSystem;
class FileWriterCache;
class SessionRunHook;

namespace detail {
class SessionServices;
}  // namespace detail

/// What a monitored session offers to its hooks. Owned by the session; valid from a hook's `begin` to its `end` or
/// `abort`.
class HookServices {
 public:
  [[nodiscard]] FileSystem& file_system() const noexcept { return *file_system_; }
  [[nodiscard]] Clock& clock() const noexcept { return *clock_; }

  /// The writers of event files, one per directory. The session closes them.
  [[nodiscard]] FileWriterCache& writers() const noexcept { return *writers_; }

  /// The other processes of the job; those of a process alone change nothing.
  [[nodiscard]] Peers& peers() const noexcept { return *peers_; }

  /// The session; empty before it is made, and from its loss until it is made again. For a hook's `abort`, and for
  /// callbacks that get no session.
  [[nodiscard]] SessionRef session() const noexcept { return session_; }

  /// The checkpoint that the current session was restored from; empty: none.
  [[nodiscard]] const std::string& restored_from() const noexcept { return restored_from_; }

  /// The session's own directory of checkpoints; empty: it has none.
  [[nodiscard]] const std::string& checkpoint_dir() const noexcept { return checkpoint_dir_; }

  /// The checkpoint that the session saved last or was restored from; empty: none.
  [[nodiscard]] const std::string& newest_checkpoint() const noexcept { return newest_checkpoint_; }

  /// The longest that a save of the session's checkpoints took, from its step boundary until it was committed; zero
  /// before the first one.
  [[nodiscard]] Duration longest_save() const noexcept { return longest_save_; }

  /// How many checkpoints the session has saved.
  [[nodiscard]] std::uint64_t num_saves() const noexcept { return num_saves_; }

  /// Asks the saver hooks for a checkpoint at the next step boundary, whatever their periods. In a job, this
  /// is the wish of one process until all know of it.
  void request_save() {
    if (peers_->agrees_to_save()) ++num_save_requests_;
  }

  /// Asks every hook and returns why the model must not be saved now, or nothing. A hook must call it before it saves
  /// the model.
  [[nodiscard]] std::optional<std::string> save_veto() const { return save_veto_ ? save_veto_() : std::nullopt; }

  /// For a hook that postpones work from `after_create_session` to its first `before_run`. A step function may run the
  /// session before any `before_run`, so the session calls `action` before each step function, and before the hooks'
  /// `end`, since there may have been no run at all.
  void before_step_function(std::function<void(SessionRef session)> action) { put_off_.push_back(std::move(action)); }

  /// For a hook that saves on a thread of its own, in `begin`: `wait` returns when all that it has started is written.
  /// The session calls it after each loss, before it looks for a checkpoint to resume from.
  void before_recovery(std::function<void()> wait) { background_saves_.push_back(std::move(wait)); }

  /// Sets the reason that the session's `why_it_ended()` returns; the first one counts. For a hook that requests a stop
  /// from the coordinator; during a run, pass the reason to `SessionRunContext::request_stop`.
  /// @param is_interruption see `is_interrupted`
  void set_stop_reason(std::string reason, bool is_interruption = false) {
    if (!stop_reason_.empty()) return;
    stop_reason_ = std::move(reason);
    is_interrupted_ = is_interruption;
  }

  /// For a hook's `end`: true if the run ends because of a signal or the like, the same in all processes of a job. A
  /// later run resumes it, so do nothing that a run without the interruption would not do at this step, such as one
  /// more evaluation.
  [[nodiscard]] bool is_interrupted() const noexcept { return is_interrupted_; }

  /// Publishes a metric for other hooks; it replaces an earlier one of that name.
  void publish(std::string_view name, PublishedMetric metric) { entry(metrics_, name) = metric; }

  /// The last metric published under that name, or null. Metrics are state: a restored session has those of its
  /// checkpoint.
  [[nodiscard]] TRAINHOOK_DECL const PublishedMetric* metric(std::string_view name) const noexcept;

 private:
  friend class detail::SessionServices;

  TRAINHOOK_DECL HookServices(FileSystem& file_system, Clock& clock, FileWriterCache& writers, Peers& peers) noexcept;
  HookServices(const HookServices&) = default;  // only as part of a SessionServices
  HookServices& operator=(const HookServices&) = default;

  // The metric of that name; adds it if it is missing.
  [[nodiscard]] TRAINHOOK_DECL static PublishedMetric& entry(PublishedMetrics& metrics, std::string_view name);

  FileSystem* file_system_;
  Clock* clock_;
  FileWriterCache* writers_;
  Peers* peers_;
  SessionRef session_;
  std::string restored_from_;
  std::string checkpoint_dir_;
  std::string newest_checkpoint_;
  Duration longest_save_{};
  std::uint64_t num_saves_ = 0;
  std::string stop_reason_;
  bool is_interrupted_ = false;
  std::uint64_t num_save_requests_ = 0;
  PublishedMetrics metrics_;
  std::function<std::optional<std::string>()> save_veto_;
  std::vector<std::function<void(SessionRef)>> put_off_;  // until the first run
  std::vector<std::function<void()>> background_saves_;   // each waits for those of one hook
};

namespace detail {

/// What the session's thread is doing, for another one that watches it.
class SessionActivity {
 public:
  /// @param what a literal
  void note(const char* what, const SessionRunHook* hook = nullptr) noexcept {
    hook_.store(hook, std::memory_order_relaxed);
    what_.store(what, std::memory_order_relaxed);
    count_.store(count() + 1, std::memory_order_relaxed);
  }
  /// The same callback of the next hook.
  void note(const SessionRunHook& hook) noexcept { hook_.store(&hook, std::memory_order_relaxed); }

  [[nodiscard]] const char* what() const noexcept { return what_.load(std::memory_order_relaxed); }
  /// Whose callback it is; null: none.
  [[nodiscard]] const SessionRunHook* hook() const noexcept { return hook_.load(std::memory_order_relaxed); }
  /// Rises with each note of what is done.
  [[nodiscard]] std::uint64_t count() const noexcept { return count_.load(std::memory_order_relaxed); }

 private:
  std::atomic<const char*> what_ = "the start";
  std::atomic<const SessionRunHook*> hook_ = nullptr;
  std::atomic<std::uint64_t> count_ = 0;
};

/// The services of a monitored session, which owns them, with what authors of hooks do not need.
class SessionServices final : public HookServices {
 public:
  TRAINHOOK_DECL SessionServices(FileSystem& file_system, Clock& clock, FileWriterCache& writers,
                                 Peers& peers = Peers::none());

  /// What a hook's `services()` are. Every HookServices is one of these.
  [[nodiscard]] static SessionServices& of(HookServices& services) noexcept {
    return static_cast<SessionServices&>(services);
  }

  /// The process that made the session. In a forked child the session is dead: it neither runs nor ends.
  [[nodiscard]] const ProcessMark& process() const noexcept { return process_; }

  [[nodiscard]] SessionActivity& activity() const noexcept { return *activity_; }

  // For stock hooks.

  /// For a hook that has something which another process waits for: the session calls `action`, which must not throw,
  /// when its end begins, before the first `end` or `abort`.
  void before_end(std::function<void()> action) { before_end_.push_back(std::move(action)); }

  /// For the `begin` of a hook that saves the model also if the session ends by an error: the session calls `save`,
  /// which may throw, before the first `abort`, unless the model may be in the middle of a step.
  void on_exception(const SessionRunHook& hook, std::function<void(SessionRef session)> save) {
    on_exception_.emplace_back(&hook, std::move(save));
  }
  using ExceptionSaves = std::vector<std::pair<const SessionRunHook*, std::function<void(SessionRef)>>>;

  /// How often a checkpoint was requested, see `request_save`.
  [[nodiscard]] std::uint64_t num_save_requests() const noexcept { return num_save_requests_; }

  /// For a saver hook: a checkpoint is committed, and how long that took.
  void note_save(std::string prefix, Duration took) noexcept {
    newest_checkpoint_ = std::move(prefix);
    longest_save_ = (std::max)(longest_save_, took);
    ++num_saves_;
  }

  /// For the `begin` of a hook that publishes metrics called `<name>/...`.
  /// @param type the hook's, for the message
  /// @throws InvalidArgumentError if another hook of the session has that name: hooks would read a mixture of both.
  TRAINHOOK_DECL void claim_metrics(const SessionRunHook& hook, std::string_view type, std::string_view name);

  // For the session's owner.

  /// After each creation of the session: replaces the published metrics by those of the restored checkpoint.
  void start_session(std::string restored_from) noexcept {
    metrics_.swap(restored_metrics_);
    restored_metrics_.clear();
    newest_checkpoint_ = restored_from;
    restored_from_ = std::move(restored_from);
    put_off_.clear();
  }

  /// Once the hooks know the session, and with an empty reference before it goes.
  void set_session(SessionRef session) noexcept { session_ = session; }

  /// Before each step function and before the hooks' `end`.
  TRAINHOOK_DECL void prepare_step_function(SessionRef session) const;

  /// Before a lost session is made again.
  TRAINHOOK_DECL void wait_for_background_saves() const;

  /// When the session's end begins.
  TRAINHOOK_DECL void begin_end() const noexcept;

  [[nodiscard]] const ExceptionSaves& on_exception() const noexcept { return on_exception_; }

  [[nodiscard]] const std::string& stop_reason() const noexcept { return stop_reason_; }

  /// After a loss: returns the reason and forgets it, so that the next request sets its own.
  [[nodiscard]] std::string take_stop_reason() noexcept {
    is_interrupted_ = false;
    return std::exchange(stop_reason_, {});
  }

  /// What counts for all processes of the job.
  void set_interrupted(bool is_interrupted) noexcept { is_interrupted_ = is_interrupted; }

  /// A save that all processes of the job make.
  void grant_save() noexcept { ++num_save_requests_; }

  /// All metrics, for the checkpoint.
  [[nodiscard]] const PublishedMetrics& metrics() const noexcept { return metrics_; }

  /// The metrics of a checkpoint that is being restored; they are published once the session has been created.
  [[nodiscard]] PublishedMetrics& restored_metrics() noexcept { return restored_metrics_; }
  using HookServices::entry;

  void set_checkpoint_dir(std::string directory) noexcept { checkpoint_dir_ = std::move(directory); }
  void set_save_veto(std::function<std::optional<std::string>()> ask) { save_veto_ = std::move(ask); }

 private:
  struct Publisher {
    const SessionRunHook* hook;
    std::string type;
    std::string name;
  };

  ProcessMark process_;
  std::shared_ptr<SessionActivity> activity_;
  std::vector<Publisher> publishers_;
  PublishedMetrics restored_metrics_;
  std::vector<std::function<void()>> before_end_;
  ExceptionSaves on_exception_;
};

}  // namespace detail
}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/session/impl/hook_services.ipp>
#endif
