// SPDX-License-Identifier: Apache-2.0
/// @file
/// SessionCreator: creates sessions that are ready to run, the first one and a new one after every loss.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include <trainhook/core/linkage.hpp>
#include <trainhook/session/session_ref.hpp>

namespace trainhook {

class Coordinator;

/// A session that has several users, such as a chief and its workers, for one of them. It ends with its last user.
/// Thread-safe.
class SharedSession {
 public:
  SharedSession() = default;
  SharedSession(const SharedSession&) = delete;
  SharedSession& operator=(const SharedSession&) = delete;
  TRAINHOOK_DECL virtual ~SharedSession();

  /// The background threads of this user, before they start.
  virtual void begin(std::shared_ptr<const Coordinator> threads) = 0;

  /// The error with which this user must end, because one that it depends on has; null: none.
  [[nodiscard]] virtual std::exception_ptr error() const = 0;

  /// What may explain a failed run of this user: the first error of threads that it depends on; null: nothing.
  [[nodiscard]] virtual std::exception_ptr cause() const = 0;

  /// Whether the session is lost for all its users.
  [[nodiscard]] virtual bool is_lost() const noexcept = 0;

  /// This user will make another session, so the end of its threads is not the end of input for others.
  virtual void lose() noexcept = 0;

  /// This user ends.
  virtual void close(SessionRef session) = 0;
};

/// A session of any engine, and its owner.
struct OwnedSession {
  std::shared_ptr<void> owner{};  ///< null if the caller owns the session
  SessionRef session{};
  std::string restored_from{};              ///< the checkpoint it was restored from; empty: none
  std::shared_ptr<SharedSession> shared{};  ///< null if it has one user

  template <SessionLike S, class... Args>
  [[nodiscard]] static OwnedSession make(Args&&... args) {
    auto session = std::make_shared<S>(std::forward<Args>(args)...);
    const SessionRef ref(*session);
    return {std::move(session), ref};
  }

  /// Ends the session. A shared session ends with its last user.
  TRAINHOOK_DECL void close();
};

namespace detail {

/// Opens a session of the engine with uninitialized variables.
using SessionOpener = std::function<OwnedSession()>;

}  // namespace detail

/// Creates sessions whose variables have values, restored or initial. Source: TensorFlow's `SessionCreator`.
class SessionCreator {
 public:
  TRAINHOOK_DECL virtual ~SessionCreator();

  /// Returns a session that is ready to run. Called at the start and after every loss. If the values come from a
  /// checkpoint, set `restored_from`: savers then do not save it again, and hooks restore what belongs to it, such as
  /// the input's position.
  [[nodiscard]] virtual OwnedSession create_session() = 0;

  /// The graph of the sessions.
  [[nodiscard]] virtual Graph& graph() = 0;

  /// True if a session created now would continue training instead of starting from initial values.
  [[nodiscard]] virtual bool has_checkpoint() const noexcept { return false; }

  /// True if this session may change the graph, saves the model and fills the queues; a worker leaves that to its
  /// chief.
  [[nodiscard]] virtual bool is_chief() const noexcept { return true; }

  /// Called when the monitored session has ended with an error, which is null if unknown: sessions that depend on it
  /// must stop too.
  virtual void session_failed(const std::exception_ptr& /*error*/) noexcept {}
};

namespace detail {

/// Returns `creator`. @throws InvalidArgumentError if it is null.
[[nodiscard]] TRAINHOOK_DECL std::shared_ptr<SessionCreator> checked_creator(std::shared_ptr<SessionCreator> creator);

}  // namespace detail
}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/monitored/impl/session_creator.ipp>
#endif
