// SPDX-License-Identifier: Apache-2.0
/// @file
/// ranks::chief, ranks::worker: threads of one process that train one model in one session.
#pragma once

#include <chrono>
#include <memory>

#include <trainhook/core/duration.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/monitored/session_peers.hpp>
#include <trainhook/ranks/local_master.hpp>

namespace trainhook::ranks {

/// The peers of the chief, `{.peers = ranks::chief(master)}`: its workers.
/// @throws InvalidArgumentError if `master` is null.
[[nodiscard]] TRAINHOOK_DECL std::shared_ptr<SessionPeers> chief(std::shared_ptr<LocalMaster> master);

/// The peers of a worker, which uses the session of its chief and ignores what has to do with files, and `scaffold` and
/// `chief_only_hooks`.
/// @param max_wait_secs how long it waits for its chief; then the session throws DeadlineExceededError. It throws
/// UnimplementedError if `master` is null, because workers in other processes are not supported, and
/// InvalidArgumentError for a negative wait.
[[nodiscard]] TRAINHOOK_DECL std::shared_ptr<SessionPeers> worker(std::shared_ptr<LocalMaster> master,
                                                                  Duration max_wait_secs = std::chrono::seconds(7200));

/// For a MonitoredSession without `monitored_training_session`: creates the sessions of `creator`, for the workers of
/// `master`, too. @throws InvalidArgumentError if one is null.
[[nodiscard]] TRAINHOOK_DECL std::shared_ptr<SessionCreator> publish(std::shared_ptr<LocalMaster> master,
                                                                     std::shared_ptr<SessionCreator> creator);

}  // namespace trainhook::ranks

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/ranks/impl/workers.ipp>
#endif
