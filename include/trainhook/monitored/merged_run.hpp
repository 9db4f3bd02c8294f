// SPDX-License-Identifier: Apache-2.0
/// @file
/// MergedRun: one request out of what the user and the hooks want, and each one's part of the results.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/session/run_args.hpp>
#include <trainhook/session/session_ref.hpp>

namespace trainhook::detail {

/// The memory of one run with hooks. Used again for the next one, so that a step allocates nothing.
class MergedRun {
 public:
  /// Room for so many hooks.
  void reserve(std::size_t hooks) { slices_.reserve(hooks); }

  /// Starts with what the user asks for.
  TRAINHOOK_DECL void begin(const RunRequest& request);

  /// Adds what the next hook asks for. @throws FailedPreconditionError if an earlier hook feeds the same tensor,
  /// NotFoundError or InvalidArgumentError for a name that the session's graph does not have.
  TRAINHOOK_DECL void add(const SessionRunArgs& args, SessionRef session);

  /// Adds the user's feeds and makes the run. @throws FailedPreconditionError if a hook feeds the same tensor as the
  /// user, or whatever the engine throws.
  TRAINHOOK_DECL void execute(SessionRef session, const RunRequest& request);

  /// What the hook that was added as number `index` gets. Valid until `release`.
  [[nodiscard]] TRAINHOOK_DECL SessionRunValues values_of(std::size_t index) const noexcept;

  /// Moves the user's results out.
  TRAINHOOK_DECL void give_results(std::span<Tensor> results) noexcept;

  /// Lets go of values: a handle kept here would make the next step copy the variable before writing it.
  TRAINHOOK_DECL void release() noexcept;

 private:
  struct Slice {
    std::size_t begin;
    std::size_t count;
    std::size_t named;  // 0, or the place in `named_` of the names of the last of them, counted from 1
  };

  TRAINHOOK_DECL void add_feeds(std::span<const Feed> feeds);
  TRAINHOOK_DECL void add_user_feeds(const RunRequest& request);

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
