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
/// between runs.
///
/// - `graph()`: the graph that it runs; always the same.
/// - `execute(request, results)`: computes `request.fetches` in one run, in order, into `results`, which has the same
///   length. The session stays usable after an exception.
/// - `state()`: lists its pieces of state, and which of them have a value.
/// - `snapshot(names)`: the current values, in the order of the names; later runs do not change them. @throws
///   NotFoundError for an unknown name.
/// - `load(entries)`: checks names, dtypes, shapes and contents of all entries, then loads all of them; or throws and
///   changes nothing.
/// - `close()`: ends the session; a second call does nothing. A later `execute` throws FailedPreconditionError.
///
/// An engine whose snapshot copies elements may also have `saved_value(name)`, which returns one value of a snapshot
/// without keeping a copy. A save on the caller's thread then needs memory for only one value at a time.
///
/// An engine whose variables are in the memory of its caller may also have `memory(name)`, which returns the elements
/// of a variable, none if they are not there in row-major order, and `load(entries, fill)`: to an entry without a value
/// it gives one by `fill`, which may write half of it and throw. Saves on the caller's thread and restores of parts of
/// tensors then need no memory for a copy.
///
/// An engine whose values are on a device may also have `deferred_value(name)`, which copies one value of a snapshot
/// there, and returns a function that brings the copy to the host, on any thread, also after the session; or an empty
/// function if it does not do so with this value, such as one of kind `Input`. A save in the background then lets
/// training go on at once.
///
/// An engine that its caller owns, such as a LoopSession, may also have `open()`, which starts a session: `close()`
/// ends it, and after a loss another one begins.
///
/// An engine that draws random numbers may also have `set_rank(rank, size)`. A session of a job of several ranks calls
/// it before the first step, and from then on the engine draws the numbers of that rank.
///
/// An engine that chooses its code by the processor may also have `kernel_width()`, a `std::string_view` that names the
/// choice, such as "avx2". A run that resumes with another one logs that its numbers will differ in their last bits.
///
/// An engine whose graph is of use to TensorFlow may also have `graph_export()`, a `const GraphExport*`. Savers then
/// write the graph beside their checkpoints.
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
