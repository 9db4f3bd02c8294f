// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/hooks/best_checkpoint_hook.hpp>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <trainhook/checkpoint/checkpoint_claim.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/core/user_call.hpp>
#include <trainhook/graph/global_step.hpp>
#include <trainhook/hooks/metric_watch.hpp>
#include <trainhook/hooks/saving/best_checkpoints.hpp>
#include <trainhook/session/run_context.hpp>

namespace trainhook::detail {

/// The hook that saves the model, of several the one that saves into the session's directory; null: there is none.
inline std::shared_ptr<CheckpointClaim> claim_beside(const Graph& graph, const std::string& directory,
                                                     const std::string& of_session) {
  const auto claims = graph.offered<CheckpointClaim>();
  if (claims.size() == 1) return claims.front();
  if (!directory.empty()) return nullptr;
  const auto own = std::ranges::find_if(claims, [&](const auto& claim) { return claim->directory == of_session; });
  if (own != claims.end()) return *own;
  if (!of_session.empty()) return nullptr;
  throw FailedPreconditionError(
      "BestCheckpointHook: {} hooks of this session save the model, so it is not clear where the best checkpoints "
      "belong; give the directory for them",
      claims.empty() ? "no" : "several");
}

}  // namespace trainhook::detail

namespace trainhook {

BestCheckpointHook::BestCheckpointHook(Options options) : options_(std::move(options)) {
  if (options_.keep < 1)
    throw InvalidArgumentError("BestCheckpointHook: keep is {}; it must be at least 1", options_.keep);
  if (options_.metric.empty())
    throw InvalidArgumentError("BestCheckpointHook: metric is empty; give the name of one, such as 'eval/loss'");
}

BestCheckpointHook::BestCheckpointHook(BestCheckpointHook&& other) noexcept = default;

BestCheckpointHook::~BestCheckpointHook() = default;

void BestCheckpointHook::begin(Graph& graph) {
  global_step_ = detail::require_global_step(graph, "BestCheckpointHook");
  folder_.reset();
  best_.clear();
}

void BestCheckpointHook::after_create_session(SessionRef session, Coordinator& /*coordinator*/) {
  seen_.reset();
  const PublishedMetric* restored = services().metric(options_.metric);
  if (restored != nullptr && restored->step < read_global_step(session, global_step_)) seen_ = restored->step;
  has_run_ = false;
  if (folder_ != nullptr) return;
  folder_ = std::make_unique<detail::BestCheckpoints>(
      options_, detail::SessionServices::of(services()), session,
      detail::claim_beside(session.graph(), options_.directory, services().checkpoint_dir()));
  best_ = folder_->best();
}

SessionRunArgs BestCheckpointHook::before_run(SessionRunContext& context) {
  has_run_ = true;
  if (const PublishedMetric* metric = news()) consider(context.session(), context.global_step(), *metric);
  return {};
}

void BestCheckpointHook::after_run(SessionRunContext& context, const SessionRunValues& /*values*/) {
  folder_->keep_directory(context);
  if (const PublishedMetric* metric = news()) consider(context.session(), context.global_step(), *metric);
}

void BestCheckpointHook::end(SessionRef session) {
  const std::shared_ptr<void> unlock(nullptr, [this](void*) { folder_.reset(); });  // even if the save throws
  if (const PublishedMetric* metric = news()) consider(session, read_global_step(session, global_step_), *metric);
  if (!seen_) detail::warn_if_never_published("BestCheckpointHook", options_.metric, services());
}

void BestCheckpointHook::abort(const std::exception_ptr& /*error*/) noexcept { folder_.reset(); }

const PublishedMetric* BestCheckpointHook::news() const {
  const PublishedMetric* metric = services().metric(options_.metric);
  return metric != nullptr && metric->step != seen_ ? metric : nullptr;
}

void BestCheckpointHook::consider(SessionRef session, std::int64_t step, const PublishedMetric& metric) {
  if (metric.step > step) return;  // of the run that is about to begin
  seen_ = metric.step;
  if (metric.step < step) {
    log_warning(
        "BestCheckpointHook: {} of step {} was published when the model was at step {}, so that model cannot be saved "
        "any more; publish it before the next run",
        options_.metric, metric.step, step);
    return;
  }
  if (!folder_->is_wanted(step, metric.value)) return;
  if (const auto reason = services().save_veto()) {
    log_warning("BestCheckpointHook: the model of step {}, with {} = {:.6g}, is not saved: {}", step, options_.metric,
                metric.value, *reason);
    return;
  }
  if (!has_run_) folder_->restore_input(session, step);
  SaveCost cost;
  const std::string prefix = folder_->save(session, step, metric.value, cost);
  best_ = folder_->best();
  log_info("BestCheckpointHook: {} = {:.6g} at step {} is {}; saved as {}: {}.", options_.metric, metric.value, step,
           best_.front().step == step ? "the best so far" : fmt::format("among the best {}", options_.keep), prefix,
           cost.to_string());
  if (!options_.on_best || best_.front().step != step) return;
  detail::call_of_user("on_best of BestCheckpointHook", {}, [&] { options_.on_best(best_.front()); });
}

}  // namespace trainhook
