// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/hooks/feed_fn_hook.hpp>

#include <utility>

#include <trainhook/core/error.hpp>

namespace trainhook {

FeedFnHook::FeedFnHook(std::function<FeedDict()> feed_fn) : feed_fn_(std::move(feed_fn)) {
  if (feed_fn_ == nullptr)
    throw InvalidArgumentError("FeedFnHook: feed_fn is empty; give a function that returns what to feed");
}

SessionRunArgs FeedFnHook::before_run(SessionRunContext& /*context*/) { return {.feed_dict = feed_fn_()}; }

}  // namespace trainhook
