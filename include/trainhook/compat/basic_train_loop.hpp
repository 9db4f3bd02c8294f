// SPDX-License-Identifier: Apache-2.0
/// @file
/// basic_train_loop: a loop that goes on with a new session after an AbortedError.
#pragma once

#include <concepts>
#include <type_traits>
#include <utility>

#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/monitored/monitored_session.hpp>

namespace trainhook {

/// Calls `train_step_fn(session)` until the session should stop, then closes it. After an AbortedError it continues
/// with the next session that `managed_session()` returns, any number of times; it throws all other errors. Source:
/// `tf.compat.v1.train.basic_train_loop`, whose `supervisor.managed_session` is the first argument here.
template <std::invocable ManagedSession, class TrainStep>
  requires std::invocable<TrainStep&, std::invoke_result_t<ManagedSession&>&>
void basic_train_loop(ManagedSession managed_session, TrainStep train_step_fn) {
  for (bool should_retry = true; std::exchange(should_retry, false);) {
    try {
      auto session = managed_session();
      run_until_stop(session, [&] { train_step_fn(session); });
    } catch (const AbortedError& error) {
      log_info("The training loop was aborted and continues with a new session: {}", error.what());
      should_retry = true;
    }
  }
}

}  // namespace trainhook
