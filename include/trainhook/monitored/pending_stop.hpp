// SPDX-License-Identifier: Apache-2.0
/// @file
/// PendingStop: a request to stop that outlives the session in which it was made.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <trainhook/core/linkage.hpp>
#include <trainhook/monitored/live_session.hpp>
#include <trainhook/session/hook_services.hpp>

namespace trainhook::detail {

/// Carries a stop request from a session that is lost to the one that follows it.
class PendingStop {
 public:
  [[nodiscard]] bool is_requested() const noexcept { return since_.has_value(); }

  /// For the next session, at whatever step it starts.
  void request() noexcept { since_ = LiveSession::kAlways; }

  /// Takes the request of a lost session; null: of one that was being created.
  TRAINHOOK_DECL void take_from(const LiveSession* lost, SessionServices& services);

  /// Repeats the request in the next session, unless that starts before the step of the request.
  TRAINHOOK_DECL void repeat_in(LiveSession& next, SessionServices& services, std::optional<std::int64_t> resumed_at);

 private:
  std::optional<std::int64_t> since_;  // see LiveSession::stop_since
  std::string reason_;
  bool is_interruption_ = false;  // see HookServices::is_interrupted
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/monitored/impl/pending_stop.ipp>
#endif
