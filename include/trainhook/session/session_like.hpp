// SPDX-License-Identifier: Apache-2.0
/// @file
/// The engine concept: what a session must offer to be monitored.
#pragma once

#include <concepts>
#include <span>
#include <string>
#include <vector>

#include <trainhook/core/saveable.hpp>
#include <trainhook/session/run_args.hpp>

namespace trainhook {

/// An engine that runs a Graph. `execute` may be called from several threads at once; all other calls come between
/// runs.
///
/// - `graph()`: the graph that it runs, for its whole life.
/// - `execute(request, results)`: computes `request.fetches` in one run, in order, into `results`, which has the same
///   length. The session stays usable after an exception.
/// - `state()`: lists what it holds, and which pieces have a value.
/// - `snapshot(names)`: the present values, one for each name in order; later runs do not change them. @throws
///   NotFoundError for an unknown name.
/// - `load(entries)`: checks names, dtypes, shapes and contents of all entries, then loads all of them; or throws and
///   changes nothing.
/// - `close()`: ends the session; harmless when repeated. A later `execute` throws FailedPreconditionError.
///
/// A session whose snapshot copies elements may also offer `saved_value(name)`, which returns one value of a snapshot
/// and keeps nothing of it: a save on the caller's thread then takes and writes one value after the other.
template <class S>
concept SessionLike = requires(S& session, const RunRequest& request, std::span<Tensor> results,
                               std::span<const std::string> names, std::span<const NamedTensor> entries) {
  { session.graph() } -> std::same_as<Graph&>;
  { session.execute(request, results) } -> std::same_as<void>;
  { session.state() } -> std::same_as<std::vector<StateSpec>>;
  { session.snapshot(names) } -> std::same_as<std::vector<NamedTensor>>;
  { session.load(entries) } -> std::same_as<void>;
  { session.close() } -> std::same_as<void>;
};

}  // namespace trainhook
