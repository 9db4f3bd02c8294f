// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of session_hooks.hpp.
#pragma once

#include <trainhook/monitored/session_hooks.hpp>

#include <exception>
#include <string>

#include <fmt/format.h>

#include <trainhook/checkpoint/checkpoint_claim.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/saveable.hpp>
#include <trainhook/core/shared.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/monitored/hook_names.hpp>
#include <trainhook/monitored/hook_states.hpp>

namespace trainhook::detail {

SessionHooks::SessionHooks(const HookList& entries, SessionServices& services)
    : hooks_(in_phases(entries)), services_(&services) {}

void SessionHooks::save_with(Graph& graph, bool is_part_of_job) {
  states_ = make_shared_object<HookStates>(hooks_, *services_);
  graph_ = &graph;
  if (is_part_of_job) states_->set_is_part_of_job();
  graph.add_to_collection(graph_keys::kSaveableObjects, std::shared_ptr<Saveable>(states_));
}

void SessionHooks::begin(Graph& graph) {
  for (const std::shared_ptr<SessionRunHook>& hook : hooks_) {
    if (!HookAccess::claim(*hook)) {
      throw FailedPreconditionError(
          "a hook, {}, is in another session that is still open; a hook belongs to one session at a time, so close "
          "that session before, or make a hook for each",
          short_type_name(*hook));
    }
    ++claimed_;
    HookAccess::attach(*hook, *services_);
    ++begun_;  // its abort is also called for an error of its own begin
    try {
      hook->begin(graph);
    } catch (Error& error) {  // the session's constructor throws it, so it is reported once
      const std::string name = short_type_name(*hook);
      const std::string text = error.what();
      if (text.find(name) == std::string::npos)
        error = Error(error.code(), "hook '{}' failed in begin: {}", fmt::make_format_args(name, text));
      throw;
    } catch (...) {
      log_hook_failure(*hook, "begin", std::current_exception());
      throw;
    }
  }
  if (states_ != nullptr) states_->set_warns_of_missing_hooks(!graph.offered<CheckpointClaim>().empty());
}

void SessionHooks::end(SessionRef session, std::vector<std::exception_ptr>& errors) {
  for (const std::shared_ptr<SessionRunHook>& hook : hooks_) {
    try {
      call_hook(*hook, "end", [&] { hook->end(session); });
    } catch (...) { errors.push_back(std::current_exception()); }
  }
}

void SessionHooks::abort(const std::exception_ptr& error) noexcept {
  for (std::size_t i = begun_; i > 0; --i) hooks_[i - 1]->abort(error);
}

void SessionHooks::leave() noexcept {
  if (states_ != nullptr)
    graph_->remove_from_collection(graph_keys::kSaveableObjects, std::shared_ptr<Saveable>(states_));
  states_ = nullptr;
  for (; claimed_ > 0; --claimed_) HookAccess::release(*hooks_[claimed_ - 1]);
}

}  // namespace trainhook::detail
