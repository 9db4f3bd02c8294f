// SPDX-License-Identifier: Apache-2.0
/// @file
/// MergedRun: merges the requests of the user and the hooks into one, and splits the results.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/session/run_args.hpp>
#include <trainhook/session/session_ref.hpp>

namespace trainhook::detail {

/// The memory of one run with hooks, reused for the next one, so that a step does not allocate.
class MergedRun {
 public:
  /// Reserves memory for that many hooks.
  void reserve(std::size_t hooks) { slices_.reserve(hooks); }

  /// Starts with the user's request.
  TRAINHOOK_DECL void begin(const RunRequest& request);

  /// Adds the request of the next hook. @throws FailedPreconditionError if an earlier hook feeds the same tensor,
  /// NotFoundError or InvalidArgumentError for a name that the session's graph does not have.
  TRAINHOOK_DECL void add(const SessionRunArgs& args, SessionRef session);

  /// Adds the user's feeds and makes the run. @throws FailedPreconditionError if a hook feeds the same tensor as the
  /// user, and the engine's errors.
  TRAINHOOK_DECL void execute(SessionRef session, const RunRequest& request);

  /// The values for the hook that was added as number `index`. Valid until `release`.
  [[nodiscard]] TRAINHOOK_DECL SessionRunValues values_of(std::size_t index) const noexcept;

  /// Moves the user's results to `results`.
  TRAINHOOK_DECL void give_results(std::span<Tensor> results) noexcept;

  /// Releases the values, because a handle kept here would make the next step copy a variable before writing it.
  TRAINHOOK_DECL void release() noexcept;

 private:
  struct Slice {
    std::size_t begin;
    std::size_t count;
    std::size_t named;  // 0, or one plus the index in `named_` of the names of the last ones
  };

  TRAINHOOK_DECL void add_feeds(std::span<const Feed> feeds);
  TRAINHOOK_DECL void add_feed(const Feed& feed, std::size_t from_others, std::string_view feeders);

  std::vector<Fetch> fetches_;
  std::vector<Feed> feeds_;
  std::vector<Slice> slices_;
  std::vector<FetchRefs> named_;
  std::vector<Tensor> results_;
  std::optional<RunOptions> options_;
  const RunOptions no_options_{};
  RunMetadata metadata_;
  RunMetadata* used_metadata_ = nullptr;
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/monitored/impl/merged_run.ipp>
#endif
