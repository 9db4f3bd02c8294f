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

/// An engine that runs a Graph. `execute` may be called from several threads at once; the rest is called between runs.
///
/// | call | must |
/// |---|---|
/// | `graph()` | give the graph it runs, for its whole life |
/// | `execute(request, results)` | compute `request.fetches` in order into `results` (same length) in one run; on an
/// exception the session stays usable | | `state()` | list what it holds, with whether each piece has a value | |
/// `snapshot(names)` | give the values as of now, one for each name in order, unaffected by later runs; NotFoundError
/// for an unknown name | | `load(entries)` | check names, dtypes, shapes and contents of all entries first, then take
/// all of them over, or throw and change nothing | | `close()` | end it; harmless when repeated; a later `execute`
/// throws FailedPreconditionError |
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
