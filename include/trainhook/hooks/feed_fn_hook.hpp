// SPDX-License-Identifier: Apache-2.0
/// @file
/// FeedFnHook: feeds every run with the results of a function.
#pragma once

#include <functional>

#include <trainhook/core/linkage.hpp>
#include <trainhook/session/session_run_hook.hpp>

namespace trainhook {

/// Calls `feed_fn` before every attempt of a run and feeds what it returns. After a recovery the repeated run gets the
/// values of a new call. If no batch may be skipped, use an iterator, whose position is restored with the model.
/// Source: TensorFlow's `FeedFnHook`.
class FeedFnHook final : public SessionRunHook {
 public:
  /// @throws InvalidArgumentError for an empty function.
  TRAINHOOK_DECL explicit FeedFnHook(std::function<FeedDict()> feed_fn);
  FeedFnHook(FeedFnHook&& other) noexcept = default;

  TRAINHOOK_DECL SessionRunArgs before_run(SessionRunContext& context) override;

 private:
  std::function<FeedDict()> feed_fn_;
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/hooks/impl/feed_fn_hook.ipp>
#endif
