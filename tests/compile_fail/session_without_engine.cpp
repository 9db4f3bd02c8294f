// SPDX-License-Identifier: Apache-2.0
/// @file
/// A graph does not say which engine runs it.
// WRONG: say which engine runs the graph
#include <trainhook/graph/graph.hpp>
#include <trainhook/monitored/monitored_training_session.hpp>

namespace th = trainhook;

template <th::SessionLike Engine>
void train(th::Graph& graph) {
#ifdef WRONG
  auto session = th::monitored_training_session(graph, {.checkpoint_dir = "run"});
#else
  auto session = th::monitored_training_session<Engine>(graph, {.checkpoint_dir = "run"});
#endif
}
