// SPDX-License-Identifier: Apache-2.0
/// @file
/// SessionLike: the functions that an engine must have to be monitored.
#pragma once

#include <concepts>
#include <span>
#include <string>
#include <vector>

#include <trainhook/core/saveable.hpp>
#include <trainhook/session/run_args.hpp>

namespace trainhook {

/// An engine that runs a Graph. `execute` may be called from several threads at once; all other functions are called
/// between runs. What SessionRef has beside these functions, an engine may have, too. One that its caller owns, such as
/// a LoopSession, may also have `open()`, which starts a session: `close()` ends it, and after a loss another begins.
template <class S>
concept SessionLike = requires(S& session, const RunRequest& request, std::span<Tensor> results,
                               std::span<const std::string> names, std::span<const NamedTensor> entries) {
  // The graph that it runs; always the same.
  { session.graph() } -> std::same_as<Graph&>;

  // Computes `request.fetches` in one run, in order, into `results`, which has the same length. The session stays
  // usable after an exception.
  { session.execute(request, results) } -> std::same_as<void>;

  // Lists its pieces of state, and which of them have a value.
  { session.state() } -> std::same_as<std::vector<StateSpec>>;

  // The current values, in the order of the names; later runs do not change them. @throws NotFoundError for an unknown
  // name.
  { session.snapshot(names) } -> std::same_as<std::vector<NamedTensor>>;

  // Checks names, dtypes, shapes and contents of all entries, then loads all of them; or throws and changes nothing.
  { session.load(entries) } -> std::same_as<void>;

  // Ends the session; a second call does nothing. A later `execute` throws FailedPreconditionError.
  { session.close() } -> std::same_as<void>;
};

}  // namespace trainhook
