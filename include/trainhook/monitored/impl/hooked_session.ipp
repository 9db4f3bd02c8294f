// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of hooked_session.hpp.
#pragma once

#include <trainhook/monitored/hooked_session.hpp>

#include <utility>

#include <trainhook/core/clock.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/function_ref.hpp>
#include <trainhook/core/inline_vector.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/graph/global_step.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/node.hpp>

namespace trainhook::detail {

TRAINHOOK_DECL HookedSession::HookedSession(SessionRef session, const Hooks& hooks, HookServices& services)
    : session_(session), hooks_(&hooks), services_(&services), global_step_(get_global_step(session.graph())) {
  slices_.reserve(hooks.size());
}

TRAINHOOK_DECL void HookedSession::run(const RunRequest& request, std::span<Tensor> results) {
  if (stop_)
    throw FailedPreconditionError("Run called even after should_stop requested; ask should_stop() before each step");
  SessionRunContext context(session_, request, services_->clock(), global_step_ ? &*global_step_ : nullptr);
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

TRAINHOOK_DECL void HookedSession::begin_merge(const RunRequest& request) {
  fetches_.assign(request.fetches.begin(), request.fetches.end());
  feeds_.clear();
  slices_.clear();
  options_.reset();
  if (request.options != nullptr) options_ = *request.options;
}

TRAINHOOK_DECL void HookedSession::merge(const SessionRunArgs& args) {
  slices_.push_back({fetches_.size(), args.fetches.size()});
  fetches_.insert(fetches_.end(), args.fetches.begin(), args.fetches.end());
  for (const Feed& feed : args.feed_dict) {
    for (const Feed& earlier : feeds_) {
      if (earlier.key == feed.key)
        throw FailedPreconditionError("Same tensor is fed by two hooks: '{}'; leave it to one of them",
                                      feed.key.name());
    }
    feeds_.push_back(feed);
  }
  if (args.options) {
    if (!options_) options_.emplace();
    options_->merge(*args.options);
  }
}

TRAINHOOK_DECL void HookedSession::check_user_feeds(const RunRequest& request) {
  const std::size_t from_hooks = feeds_.size();
  for (const Feed& feed : request.feeds) {
    for (std::size_t i = 0; i < from_hooks; ++i) {
      if (feeds_[i].key == feed.key) {
        throw FailedPreconditionError("Same tensor is fed by a SessionRunHook and user: '{}'; leave it to one of them",
                                      feed.key.name());
      }
    }
    feeds_.push_back(feed);
  }
}

TRAINHOOK_DECL void HookedSession::execute(const RunRequest& request) {
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

TRAINHOOK_DECL void HookedSession::call_after_run(SessionRunContext& context) {
  const std::span<const Tensor> all(results_);
  for (std::size_t i = 0; i < hooks_->size(); ++i) {
    const SessionRunValues values{.results = all.subspan(slices_[i].begin, slices_[i].count),
                                  .options = options_ ? &*options_ : &no_options_,
                                  .run_metadata = used_metadata_};
    (*hooks_)[i]->after_run(context, values);
  }
}

TRAINHOOK_DECL void HookedSession::tell_of_failure(SessionRunContext& context, std::size_t asked,
                                                   const std::exception_ptr& error) noexcept {
  for (std::size_t i = 0; i < asked; ++i) {
    try {
      (*hooks_)[i]->on_run_failed(context, error);
    } catch (...) { log_error("a hook's on_run_failed failed in turn: {}", describe(std::current_exception())); }
  }
}

TRAINHOOK_DECL void HookedSession::release_results() noexcept {
  for (Tensor& result : results_) result = Tensor();
  feeds_.clear();
}

}  // namespace trainhook::detail
