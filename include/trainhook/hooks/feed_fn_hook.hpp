// SPDX-License-Identifier: Apache-2.0
/// @file
/// FeedFnHook: feeds every run with what a function gives.
#pragma once

#include <functional>
#include <utility>

#include <trainhook/session/session_run_hook.hpp>

namespace trainhook {

/// Calls `feed_fn` before every attempt of a run and feeds what it returns. A run that is repeated after a recovery is fed with the values
/// of another call: where each batch must be trained on, take it from an iterator, whose position is restored with the model. Source:
/// TensorFlow's `FeedFnHook`.
class FeedFnHook final : public SessionRunHook {
 public:
  /// @throws InvalidArgumentError for an empty function.
  explicit FeedFnHook(std::function<FeedDict()> feed_fn) : feed_fn_(std::move(feed_fn)) {
    if (feed_fn_ == nullptr) throw InvalidArgumentError("FeedFnHook: feed_fn is empty; give a function that returns what to feed");
  }

  SessionRunArgs before_run(SessionRunContext& /*context*/) override { return {.feed_dict = feed_fn_()}; }

 private:
  std::function<FeedDict()> feed_fn_;
};

}  // namespace trainhook
