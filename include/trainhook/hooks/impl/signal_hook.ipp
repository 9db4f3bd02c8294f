// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/hooks/signal_hook.hpp>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <trainhook/core/clock.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/hooks/process_signals.hpp>
#include <trainhook/io/file_system.hpp>
#include <trainhook/io/path.hpp>
#include <trainhook/session/coordinator.hpp>
#include <trainhook/session/hook_services.hpp>

namespace trainhook::detail {

inline void refuse_if_interrupted() {
  if (const std::optional<std::string> reason = interruption()) {
    throw CancelledError(
        "a run of this process was interrupted ({}), so no other session with a SignalHook is made: end the program, "
        "which th::interruption() tells a loop of sessions, or call th::forget_interruption() first",
        *reason);
  }
}

void refuse_if_interrupted(const HookList& hooks) {
  const bool has_signals = std::ranges::any_of(
      hooks, [](const HookEntry& hook) { return dynamic_cast<const SignalHook*>(hook.get().get()) != nullptr; });
  if (has_signals) refuse_if_interrupted();
}

}  // namespace trainhook::detail

namespace trainhook {

std::optional<std::string> interruption() { return detail::ProcessSignals::interruption(); }

void forget_interruption() { detail::ProcessSignals::forget_interruption(); }

SignalHook::SignalHook(Options options) : options_(std::move(options)) {
  if (options_.deadline && *options_.deadline <= Duration::zero())
    throw InvalidArgumentError("SignalHook: deadline must be above 0; leave it out to wait indefinitely");
}

SignalHook::SignalHook(SignalHook&& other) noexcept = default;
SignalHook::~SignalHook() = default;

void SignalHook::begin(Graph& /*graph*/) {
  signals_.reset();
  detail::refuse_if_interrupted();
  signals_ = detail::ProcessSignals::share(
      {.stop = options_.stop_signals, .save = options_.save_signals, .deadline = options_.deadline},
      services().clock());
  saves_ = signals_->num_saves();
  looked_.reset();
  warned_ = false;
  reason_.clear();
}

void SignalHook::after_create_session(SessionRef /*session*/, Coordinator& coordinator) {
  const auto reason =  // a file that was seen is gone
      reason_.empty() ? reason_to_stop(services().clock().monotonic_now()) : std::optional(reason_);
  if (!reason) return;
  reason_ = *reason;
  services().set_stop_reason(reason_, true);
  coordinator.request_stop();
}

void SignalHook::after_run(SessionRunContext& context, const SessionRunValues& /*values*/) {
  if (const std::uint64_t saves = signals_->num_saves(); std::exchange(saves_, saves) != saves)
    services().request_save();
  const auto reason =
      options_.directory.empty() && signals_->stop_signal() == 0 ? std::nullopt : reason_to_stop(context.now());
  if (!reason) return;
  if (reason_.empty()) log_info("{}: training stops after step {}.", *reason, context.global_step());
  reason_ = *reason;
  context.interrupt(reason_);
}

void SignalHook::end(SessionRef /*session*/) {
  signals_.reset();
  if (services().is_interrupted())
    detail::ProcessSignals::record_interruption(detail::SessionServices::of(services()).stop_reason());
  if (reason_.empty()) return;
  const std::string& checkpoint = services().newest_checkpoint();
  if (checkpoint.empty() && !services().peers().of(*this).is_chief()) {
    log_info("{}: training has ended, as all ranks agreed.", reason_);
  } else if (checkpoint.empty()) {
    log_warning("{}: training has ended, and no checkpoint was saved.", reason_);
  } else {
    log_info("{}: training has ended; the last checkpoint is {}. Start the program again to resume from there.",
             reason_, checkpoint);
  }
}

void SignalHook::abort(const std::exception_ptr& /*error*/) noexcept { signals_.reset(); }

std::optional<std::string> SignalHook::reason_to_stop(Duration now) {
  if (const int signal = signals_->stop_signal(); signal != 0) return detail::signal_name(signal);
  if (options_.directory.empty() || (looked_ && now - *looked_ < std::chrono::seconds(1))) return std::nullopt;
  looked_ = now;
  if (take_file("save")) services().request_save();
  if (!take_file("stop")) return std::nullopt;
  std::string reason = fmt::format("{} was made", join_path(options_.directory, "stop"));
  detail::ProcessSignals::record_interruption(reason);
  return reason;
}

bool SignalHook::take_file(const std::string& name) {
  const std::string path = join_path(options_.directory, name);
  try {
    FileSystem& disk = services().file_system();
    const PathKind kind = disk.resolve(path).kind;
    if (kind == PathKind::Nothing) return false;
    if (kind != PathKind::File || disk.file_size(path) > 1) {  // `echo >stop` writes a newline
      if (!std::exchange(warned_, true))
        log_warning("SignalHook: {} is not an empty file, so it is no request and stays there", path);
      return false;
    }
    disk.remove_file(path);
    return true;
  } catch (const Error& error) {
    log_warning("SignalHook: {} could not be looked for or removed: {}", path, error);
    return false;
  }
}

}  // namespace trainhook
