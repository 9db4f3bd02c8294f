// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/hooks/final_ops_hook.hpp>

#include <cstddef>
#include <utility>

#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/session/run_forms.hpp>

namespace trainhook {

FinalOpsHook::FinalOpsHook(FinalOpsHook&& other) noexcept = default;
FinalOpsHook::~FinalOpsHook() = default;

FinalOpsHook::FinalOpsHook(FetchRefs final_ops) : FinalOpsHook(std::move(final_ops), Options{}) {}

FinalOpsHook::FinalOpsHook(FetchRefs final_ops, Options options)
    : final_ops_(std::move(final_ops)), feeds_(std::move(options.final_ops_feed_dict)) {}

const Tensor& FinalOpsHook::final_ops_value(std::string_view name) const {
  for (std::size_t i = 0; i < final_ops_.size(); ++i) {
    if (final_ops_.entries()[i].tag != name) continue;
    if (values_.empty())
      throw FailedPreconditionError("FinalOpsHook: '{}' has no value before the session has ended", name);
    return values_[i];
  }
  throw NotFoundError("FinalOpsHook: none of the final ops is called '{}'", name);
}

void FinalOpsHook::begin(Graph& graph) {
  values_.clear();
  fetches_ = final_ops_.resolve(graph, "FinalOpsHook");
  detail::check_feeds(feeds_, graph, "a key of final_ops_feed_dict of", "FinalOpsHook");
}

void FinalOpsHook::end(SessionRef session) {
  if (fetches_.empty()) return;
  try {
    values_ = session.run(std::span<const Fetch>(fetches_), feeds_);
  } catch (const OutOfRangeError&) {
    log_warning(
        "FinalOpsHook: the end of input was reached while the final ops ran; probably one of them has a dependency "
        "back to some input source, which they must not have. "
        "Feed them through final_ops_feed_dict, or read from a constant");
    throw;
  }
}

}  // namespace trainhook
