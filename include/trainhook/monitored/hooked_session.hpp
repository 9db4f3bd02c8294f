// SPDX-License-Identifier: Apache-2.0
/// @file
/// HookedSession: one run with all hooks around it, every wish merged into a single request.
#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <trainhook/core/log.hpp>
#include <trainhook/graph/global_step.hpp>
#include <trainhook/session/session_run_hook.hpp>

namespace trainhook {

using Hooks = std::vector<std::shared_ptr<SessionRunHook>>;

/// Runs a session with hooks, which are called in the order of the list. The merged request lives in memory that is kept from run to run,
/// so that a step allocates nothing. For one thread at a time.
class HookedSession {
 public:
  /// Neither `hooks` nor `environment` is owned; both must outlive this.
  HookedSession(SessionRef session, const Hooks& hooks, Environment& environment)
      : session_(session), hooks_(&hooks), environment_(&environment), global_step_(get_global_step(session.graph())) {
    slices_.reserve(hooks.size());
  }

  [[nodiscard]] SessionRef session() const noexcept { return session_; }
  [[nodiscard]] bool should_stop() const noexcept { return stop_; }

  /// As a hook's request does: no further run.
  void request_stop() noexcept { stop_ = true; }

  /// before_run of each hook, one merged run, after_run of each hook; then the user's share of the results.
  /// @throws FailedPreconditionError when a stop was requested before, or where two parties feed the same tensor.
  void run(const RunRequest& request, std::span<Tensor> results) {
    if (stop_) throw FailedPreconditionError("Run called even after should_stop requested; ask should_stop() before each step");
    SessionRunContext context(session_, request, environment_->clock(), global_step_ ? &*global_step_ : nullptr);
    std::size_t asked = 0;  // hooks whose before_run is done
    try {
      begin_merge(request);
      for (const std::shared_ptr<SessionRunHook>& hook : *hooks_) {
        merge(hook->before_run(context));
        ++asked;
      }
      check_user_feeds(request);
      execute(request);
      context.mark_run_done();
      call_after_run(context);
    } catch (...) {
      tell_of_failure(context, asked, std::current_exception());
      stop_ |= context.stop_requested();
      release_results();
      throw;
    }
    stop_ |= context.stop_requested();
    std::move(results_.begin(), results_.begin() + static_cast<std::ptrdiff_t>(results.size()), results.begin());
    release_results();
  }

 private:
  struct Slice {
    std::size_t begin;
    std::size_t count;
  };

  void begin_merge(const RunRequest& request) {
    fetches_.assign(request.fetches.begin(), request.fetches.end());
    feeds_.clear();
    slices_.clear();
    options_.reset();
    if (request.options != nullptr) options_ = *request.options;
  }

  void merge(const SessionRunArgs& args) {
    slices_.push_back({fetches_.size(), args.fetches.size()});
    fetches_.insert(fetches_.end(), args.fetches.begin(), args.fetches.end());
    for (const Feed& feed : args.feed_dict) {
      for (const Feed& earlier : feeds_) {
        if (earlier.key == feed.key)
          throw FailedPreconditionError("Same tensor is fed by two hooks: '", feed.key.name(), "'; leave it to one of them");
      }
      feeds_.push_back(feed);
    }
    if (args.options) {
      if (!options_) options_.emplace();
      options_->merge(*args.options);
    }
  }

  void check_user_feeds(const RunRequest& request) {
    const std::size_t from_hooks = feeds_.size();
    for (const Feed& feed : request.feeds) {
      for (std::size_t i = 0; i < from_hooks; ++i) {
        if (feeds_[i].key == feed.key) {
          throw FailedPreconditionError("Same tensor is fed by a SessionRunHook and user: '", feed.key.name(), "'; leave it to one of them");
        }
      }
      feeds_.push_back(feed);
    }
  }

  void execute(const RunRequest& request) {
    used_metadata_ = request.metadata != nullptr ? request.metadata : &metadata_;
    used_metadata_->node_stats.clear();
    results_.resize(fetches_.size());
    session_.execute({.fetches = fetches_,
                      .feeds = feeds_,
                      .options = options_ ? &*options_ : nullptr,
                      .metadata = options_ || request.metadata != nullptr ? used_metadata_ : nullptr,
                      .step = request.step},
                     results_);
  }

  void call_after_run(SessionRunContext& context) {
    const std::span<const Tensor> all(results_);
    for (std::size_t i = 0; i < hooks_->size(); ++i) {
      const SessionRunValues values{.results = all.subspan(slices_[i].begin, slices_[i].count),
                                    .options = options_ ? &*options_ : &no_options_,
                                    .run_metadata = used_metadata_};
      (*hooks_)[i]->after_run(context, values);
    }
  }

  void tell_of_failure(SessionRunContext& context, std::size_t asked, const std::exception_ptr& error) noexcept {
    for (std::size_t i = 0; i < asked; ++i) {
      try {
        (*hooks_)[i]->on_run_failed(context, error);
      } catch (...) {
        log_error("a hook's on_run_failed failed in turn: ", describe(std::current_exception()));
      }
    }
  }

  // A handle that stays here would make the next step copy the variable before writing it.
  void release_results() noexcept {
    for (Tensor& result : results_) result = Tensor();
    feeds_.clear();
  }

  SessionRef session_;
  const Hooks* hooks_;
  Environment* environment_;
  std::optional<Variable> global_step_;
  std::vector<Fetch> fetches_;
  std::vector<Feed> feeds_;
  std::vector<Slice> slices_;
  std::vector<Tensor> results_;
  std::optional<RunOptions> options_;
  const RunOptions no_options_{};
  RunMetadata metadata_;
  RunMetadata* used_metadata_ = nullptr;
  bool stop_ = false;
};

}  // namespace trainhook
