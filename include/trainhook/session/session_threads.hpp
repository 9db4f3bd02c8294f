// SPDX-License-Identifier: Apache-2.0
/// @file
/// SessionThreads: threads that a graph wants beside its sessions, such as those of queue runners.
#pragma once

#include <memory>
#include <string_view>

#include <trainhook/session/coordinator.hpp>
#include <trainhook/session/session_ref.hpp>

namespace trainhook {

/// The functions of threads that start and end with each session of a graph, if they are in its collection
/// `session_threads`.
struct SessionThreads {
  /// Starts them; the coordinator joins them. `keep_alive` owns the session for as long as an abandoned thread uses it.
  void (*start)(SessionRef session, Coordinator& coordinator, const std::shared_ptr<void>& keep_alive);

  /// Called instead for a worker's session: the threads of the chief's, which may start a little later, serve both.
  void (*leave_to_the_chief)(const Graph& graph);

  bool operator==(const SessionThreads&) const = default;
};

namespace graph_keys {

inline constexpr std::string_view kSessionThreads = "session_threads";

}  // namespace graph_keys
}  // namespace trainhook
