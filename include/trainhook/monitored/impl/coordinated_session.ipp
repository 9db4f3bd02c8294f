// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of coordinated_session.hpp.
#pragma once

#include <trainhook/monitored/coordinated_session.hpp>

#include <string>
#include <utility>

#include <fmt/format.h>

#include <trainhook/core/clock.hpp>
#include <trainhook/core/dtype.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/core/shared.hpp>
#include <trainhook/events/file_writer_cache.hpp>
#include <trainhook/graph/global_step.hpp>
#include <trainhook/graph/variable.hpp>
#include <trainhook/monitored/hook_names.hpp>
#include <trainhook/session/queue_runner.hpp>
#include <trainhook/session/session_run_hook.hpp>

namespace trainhook::detail {

CoordinatedSession::CoordinatedSession(SessionCreator& creator, const Hooks& hooks, SessionServices& services,
                                       Duration stop_grace_period_secs, IsLoss is_loss)
    : owned_(creator.create_session()),
      coordinator_(make_shared_object<Coordinator>(services.clock())),
      services_(&services),
      hooked_(owned_.session, hooks, services, std::move(is_loss)),
      stop_grace_period_secs_(stop_grace_period_secs) {
  services.start_session(owned_.restored_from);
  if (const auto restored = step()) services.writers().restart_at(*restored + 1);
  try {
    if (owned_.shared != nullptr) owned_.shared->begin(coordinator_);
    if (creator.is_chief()) {
      start_queue_runners(owned_.session, *coordinator_, owned_.owner);
    } else {
      detail::expect_queue_runners(owned_.session.graph());
    }
    for (const std::shared_ptr<SessionRunHook>& hook : hooks) {
      const bool was_stopped = coordinator_->should_stop();
      call_hook(*hook, "after_create_session", [&] { hook->after_create_session(owned_.session, *coordinator_); });
      if (was_stopped || !coordinator_->should_stop() || coordinator_->error() != nullptr) continue;
      stopped_when_created_ = true;
      services.set_stop_reason(fmt::format("{} requested a stop", short_type_name(*hook)));
    }
  } catch (...) {
    close_quietly(true);  // it is recreated, or the session ends by an error
    throw;
  }
}

bool CoordinatedSession::should_stop() noexcept {
  try {
    hear_of_others();
  } catch (...) {
    log_error("the error of another user of the session is lost: {}", describe(std::current_exception()));
    return true;
  }
  return hooked_.should_stop() || coordinator_->should_stop();
}

void CoordinatedSession::run(const RunRequest& request, std::span<Tensor> results) {
  guarded([&] { hooked_.run(request, results); });
}

void CoordinatedSession::guarded(FunctionRef<void()> body) {
  if (hear_of_others()) coordinator_->raise_requested_exception();
  try {
    body();
  } catch (...) {
    if (!services_->process().is_here()) throw;  // the user's code has forked
    const std::exception_ptr failure = std::current_exception();
    hear_of_others();
    std::exception_ptr cause = coordinator_->error();
    const bool is_lost = owned_.shared != nullptr && owned_.shared->is_lost();
    if (cause == nullptr && owned_.shared != nullptr && !is_lost) cause = owned_.shared->cause();
    if (cause != nullptr) {
      if (coordinator_->error() == nullptr) coordinator_->request_stop(cause);
      if (cause != failure) coordinator_->request_stop(failure);
      std::rethrow_exception(cause);
    }
    if (is_lost && !is_preemption(failure))
      throw UnavailableError("the chief has given up the session: {}", describe(failure));
    throw;
  }
}

std::optional<std::int64_t> CoordinatedSession::step() const noexcept {
  try {
    const std::optional<Variable> step = get_global_step(session().graph());
    if (!step) return std::nullopt;
    const std::string name(step->name());
    const Tensor value = session().snapshot({&name, 1}).at(0).tensor;
    return value.dtype() == DType::Int32 ? value.scalar<std::int32_t>() : value.scalar<std::int64_t>();
  } catch (...) { return std::nullopt; }
}

std::vector<std::exception_ptr> CoordinatedSession::errors() {
  hear_of_others();
  return coordinator_->errors();
}

std::vector<std::exception_ptr> CoordinatedSession::close(bool is_lost) {
  if (std::exchange(closed_, true)) return {};
  if (is_lost && owned_.shared != nullptr) owned_.shared->lose();
  coordinator_->request_stop();
  try {
    coordinator_->join(stop_grace_period_secs_, true);
  } catch (...) {  // one of those that it lists
  }
  try {
    owned_.close();
  } catch (...) { log_error("closing the session failed: {}", describe(std::current_exception())); }
  return coordinator_->errors();
}

void CoordinatedSession::close_quietly(bool is_lost) noexcept {
  try {
    static_cast<void>(close(is_lost));  // its errors are in the log
  } catch (...) { log_error("while the session was closed: {}", describe(std::current_exception())); }
}

bool CoordinatedSession::hear_of_others() {
  if (owned_.shared == nullptr) return false;
  const std::exception_ptr error = owned_.shared->error();
  if (error != nullptr && coordinator_->error() == nullptr) coordinator_->request_stop(error);
  return error != nullptr;
}

}  // namespace trainhook::detail
