// SPDX-License-Identifier: Apache-2.0
/// @file
/// RecoverableSession: recreates a lost session, within a retry policy, and reports every recovery.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <trainhook/core/duration.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/function_ref.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/io/random_number.hpp>
#include <trainhook/monitored/coordinated_session.hpp>
#include <trainhook/monitored/hooked_session.hpp>
#include <trainhook/monitored/monitored_session_options.hpp>
#include <trainhook/monitored/session_creator.hpp>
#include <trainhook/session/hook_services.hpp>
#include <trainhook/session/run_args.hpp>
#include <trainhook/session/session_ref.hpp>

namespace trainhook::detail {

/// Recreates a coordinated session after each loss. Source: TensorFlow's `_RecoverableSession`, which retries endlessly
/// and without waiting.
class RecoverableSession {
 public:
  TRAINHOOK_DECL RecoverableSession(SessionCreator& creator, const Hooks& hooks, SessionServices& services,
                                    Duration stop_grace_period_secs, RetryPolicy policy);

  [[nodiscard]] CoordinatedSession* session() const noexcept { return session_.get(); }

  /// Makes a run. If the session is lost, recreates it and runs the whole request again, unless the loop is over then.
  TRAINHOOK_DECL void run(const RunRequest& request, std::span<Tensor> results);

  /// Calls `body(session)` in the same way, again from its start after a loss.
  TRAINHOOK_DECL void run_with(FunctionRef<void(CoordinatedSession&)> body, bool gives_result);

  /// Ends the loop for the program: no further run, whatever step a recovery goes back to.
  TRAINHOOK_DECL void request_stop() noexcept;

  /// True during a run, or while the session is recreated. A nested run uses the same session; if it loses the session,
  /// the outer run recovers.
  [[nodiscard]] bool is_busy() const noexcept { return is_busy_; }

  /// True if the loop should end. Recreates a session that a background thread has lost, except during a run. Never
  /// throws: if the session cannot be recreated, `loss()` has the error.
  [[nodiscard]] TRAINHOOK_DECL bool should_stop() noexcept;

  /// Why `should_stop()` could not recreate the session; null if it did, or a later run did.
  [[nodiscard]] const std::exception_ptr& loss() const noexcept { return loss_; }

  /// The errors of background threads, oldest first, without losses from which the session recovered.
  [[nodiscard]] TRAINHOOK_DECL std::vector<std::exception_ptr> errors() const;

  /// Closes the session. Returns the same errors.
  TRAINHOOK_DECL std::vector<std::exception_ptr> close();

 private:
  TRAINHOOK_DECL static void validate(const RetryPolicy& policy);
  [[nodiscard]] TRAINHOOK_DECL bool is_loss(const std::exception_ptr& error) const noexcept;
  TRAINHOOK_DECL static bool gives_results(const RunRequest& request);
  [[nodiscard]] TRAINHOOK_DECL std::vector<std::exception_ptr> without_losses(
      std::vector<std::exception_ptr> errors) const;
  TRAINHOOK_DECL void create();

  // True if a hook requested a stop. An error from a background thread does not count; `run()` throws it.
  [[nodiscard]] TRAINHOOK_DECL bool is_over();

  // Sets `is_busy_` during a run.
  class Busy {
   public:
    explicit Busy(bool& flag) noexcept : flag_(&flag) { flag = true; }
    Busy(const Busy&) = delete;
    Busy& operator=(const Busy&) = delete;
    ~Busy() { *flag_ = false; }

   private:
    bool* flag_;
  };

  template <class Body>
  void attempt(bool gives_result, Body body) {
    if (is_busy_) {
      if (session_ == nullptr)
        throw FailedPreconditionError(
            "the session is being created: run it from before_run on, or through its SessionRef");
      body();
      return;
    }
    const Busy busy(is_busy_);
    loss_ = nullptr;
    bool over = false;
    with_retries([&] {
      if (session_ == nullptr) {
        create();
        over = is_over();
      }
      if (!over) body();
    });
    if (over && gives_result)
      throw OutOfRangeError(
          "the session was lost and recreated at the end of the loop, so the run is not repeated; leave the loop as at "
          "the end of input");
  }

  template <class Body>
  void with_retries(Body body) {
    for (;;) {
      try {
        return body();
      } catch (...) {
        const std::exception_ptr error = std::current_exception();
        if (!is_loss(error)) throw;
        prepare_recovery(error);
      }
    }
  }

  // Closes the lost session and waits; rethrows the error if the policy allows no further attempt.
  TRAINHOOK_DECL void prepare_recovery(const std::exception_ptr& error);

  TRAINHOOK_DECL void back_off(std::size_t attempt);
  TRAINHOOK_DECL void keep_stop();
  TRAINHOOK_DECL void repeat_stop(std::optional<std::int64_t> resumed_at);
  TRAINHOOK_DECL void report(std::optional<std::int64_t> resumed_at);
  TRAINHOOK_DECL static std::optional<std::int64_t> step_of(SessionRef session) noexcept;

  SessionCreator* creator_;
  const Hooks* hooks_;
  SessionServices* services_;
  Duration stop_grace_period_secs_;
  RetryPolicy policy_;
  std::unique_ptr<CoordinatedSession> session_;
  std::optional<Recovery> pending_;
  std::deque<Duration> recent_;
  std::minstd_rand jitter_{// so that processes do not retry at the same time
                           static_cast<std::minstd_rand::result_type>(random_number())};
  std::optional<std::int64_t> stop_since_;  // of a request in a session that was lost; see HookedSession
  std::string stop_reason_;                 // of that request
  bool stop_is_interruption_ = false;       // see HookServices::is_interrupted
  bool was_made_ = false;                   // false until the first session exists
  bool is_busy_ = false;
  std::exception_ptr loss_;
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/monitored/impl/recoverable_session.ipp>
#endif
