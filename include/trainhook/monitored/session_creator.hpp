// SPDX-License-Identifier: Apache-2.0
/// @file
/// SessionCreator: makes a session that is ready to run, as often as it is lost.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include <trainhook/core/linkage.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/session/session_ref.hpp>

namespace trainhook {

/// A session of any engine together with what keeps it alive.
struct OwnedSession {
  std::shared_ptr<void> owner{};  ///< empty where the session is the caller's own object
  SessionRef session{};
  std::string restored_from{};  ///< the checkpoint that its values came from; empty: none did
  std::shared_ptr<const std::atomic<bool>>
      lost{};  ///< only where others share it: whether it was given up for all of them

  template <SessionLike S, class... Args>
  [[nodiscard]] static OwnedSession make(Args&&... args) {
    auto session = std::make_shared<S>(std::forward<Args>(args)...);
    const SessionRef ref(*session);
    return {std::move(session), ref};
  }

  /// Whether the session is gone through no fault of this owner.
  [[nodiscard]] bool is_lost() const noexcept { return lost != nullptr && lost->load(); }

  /// Ends the session; of one that is shared, this share: the last one ends it.
  TRAINHOOK_DECL void close();
};

/// Makes sessions whose variables have their values, restored or initial. Source: TensorFlow's `SessionCreator`.
class SessionCreator {
 public:
  TRAINHOOK_DECL virtual ~SessionCreator();

  /// The graph of the sessions.
  [[nodiscard]] virtual Graph& graph() = 0;

  /// A session, ready to run. Called once at the start and again after every loss. One that restores says so in
  /// `restored_from`: savers do not write that checkpoint again, and what goes with it, such as the input's position,
  /// is restored as well.
  [[nodiscard]] virtual OwnedSession create_session() = 0;

  /// Whether a session made now would come back with what was learned, rather than with initial values.
  [[nodiscard]] virtual bool has_checkpoint() const noexcept { return false; }

  /// Whether the graph and what is saved are this session's to arrange; a worker shares those of its chief.
  [[nodiscard]] virtual bool is_chief() const noexcept { return true; }
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/monitored/impl/session_creator.ipp>
#endif
