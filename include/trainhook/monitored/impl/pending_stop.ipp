// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/monitored/pending_stop.hpp>

#include <utility>

#include <trainhook/core/log.hpp>

namespace trainhook::detail {

void PendingStop::take_from(const LiveSession* lost, SessionServices& services) {
  const bool is_interruption = services.is_interrupted();
  std::string reason = services.take_stop_reason();
  if (lost == nullptr) return;  // what hooks request while a session is created, they request again
  is_interruption_ = false;
  if (const std::optional<std::int64_t> since = lost->stop_since()) {
    since_ = since;
    reason_ = std::move(reason);
    is_interruption_ = is_interruption;
  }
  if (lost->thread_requested_stop()) {
    request();
    if (!is_interruption_) reason_ = "a background thread requested a stop";
  }
}

void PendingStop::repeat_in(LiveSession& next, SessionServices& services, std::optional<std::int64_t> resumed_at) {
  const std::optional<std::int64_t> since = std::exchange(since_, std::nullopt);
  if (!since) return;
  if (resumed_at && *resumed_at < *since) {
    log_warning(
        "a hook had requested a stop at step {} ({}), and the session continues from step {}: the request is dropped, "
        "and the hook is asked again",
        *since, reason_, *resumed_at);
    return;
  }
  next.request_stop(*since);
  services.set_stop_reason(reason_, is_interruption_);
  log_warning("a stop had been requested before the session was lost: the loop ends here");
}

}  // namespace trainhook::detail
