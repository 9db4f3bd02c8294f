// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/monitored/chief_session_creator.hpp>

#include <exception>

#include <trainhook/checkpoint/saver.hpp>
#include <trainhook/core/clock.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/core/shared.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/hooks/scaffold.hpp>
#include <trainhook/io/posix_file_system.hpp>
#include <trainhook/session/session_ref.hpp>

namespace trainhook {

ChiefSessionCreator::ChiefSessionCreator(Graph& graph, SessionManager::Open open, ChiefSessionCreatorOptions options)
    : graph_(&graph), open_(std::move(open)), options_(std::move(options)) {
  if (!open_)
    throw InvalidArgumentError(
        "ChiefSessionCreator: open is empty; give the function that makes a session of the graph");
  options_.file_system = &detail::given_or_posix(options_.file_system);
  if (options_.scaffold == nullptr) options_.scaffold = detail::make_shared_object<Scaffold>();
}

ChiefSessionCreator::~ChiefSessionCreator() = default;

OwnedSession ChiefSessionCreator::create_session() {
  Scaffold& scaffold = *options_.scaffold;
  scaffold.finalize(*graph_);
  scaffold.saver()->use(*options_.file_system, detail::given_or_system(options_.clock));
  if (!manager_) {
    manager_ = std::make_unique<SessionManager>(SessionManagerOptions{
        .local_init_op = scaffold.local_init_op(),
        .local_init_feed_dict = scaffold.local_init_feed_dict(),
        .ready_op = scaffold.ready_op(),
        .ready_for_local_init_op = scaffold.local_init_op().has_value() ? scaffold.ready_for_local_init_op() : Output(),
        .ask_session = true,
        .file_system = options_.file_system,
        .clock = options_.clock});
  }
  InitOptions init{.init_op = scaffold.init_op(), .init_feed_dict = scaffold.init_feed_dict()};
  if (scaffold.has_init_fn()) init.init_fn = [&scaffold](SessionRef session) { scaffold.init_fn(session); };
  return manager_->prepare_session(open_,
                                   {.saver = scaffold.saver(),
                                    .checkpoint_dir = options_.checkpoint_dir,
                                    .checkpoint_filename_with_path = options_.checkpoint_filename_with_path,
                                    .restore = options_.restore},
                                   init);
}

bool ChiefSessionCreator::has_checkpoint() const noexcept {
  if (!options_.checkpoint_filename_with_path.empty()) return true;
  if (options_.checkpoint_dir.empty()) return false;
  try {
    return !detail::restorable_checkpoints(*options_.file_system, *graph_, options_.checkpoint_dir).empty();
  } catch (...) {
    log_warning("checkpoints cannot be looked for in {}: {}", options_.checkpoint_dir,
                describe(std::current_exception()));
    return false;
  }
}

RestoreReport ChiefSessionCreator::report() const { return manager_ ? manager_->report() : RestoreReport{}; }

}  // namespace trainhook
