// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/ranks/worker_session_creator.hpp>

#include <utility>

#include <trainhook/core/error.hpp>
#include <trainhook/ranks/local_master.hpp>
#include <trainhook/session/session_ref.hpp>

namespace trainhook {

WorkerSessionCreator::WorkerSessionCreator(WorkerSessionCreatorOptions options) : options_(std::move(options)) {
  if (options_.master == nullptr) {
    throw UnimplementedError(
        "WorkerSessionCreator: master is not given; "
        "a worker is a thread of its chief's process, so give both the same LocalMaster");
  }
  if (options_.max_wait_secs < Duration::zero()) {
    throw InvalidArgumentError("WorkerSessionCreator: max_wait_secs is {}; it must not be negative",
                               std::chrono::duration<double>(options_.max_wait_secs).count());
  }
}

OwnedSession WorkerSessionCreator::create_session() {
  return options_.master->wait_for_session(options_.max_wait_secs, chief_);
}

Graph& WorkerSessionCreator::graph() {
  if (graph_ == nullptr) graph_ = &create_session().session.graph();
  return *graph_;
}

}  // namespace trainhook
