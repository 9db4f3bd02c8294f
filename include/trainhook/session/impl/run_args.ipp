// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/session/run_args.hpp>

#include <algorithm>

namespace trainhook {

void RunOptions::merge(const RunOptions& other) {
  trace_level = (std::max)(trace_level, other.trace_level);
  timeout = (std::max)(timeout, other.timeout);
}

const Tensor& RunResults::operator[](std::string_view tag) const {
  const std::span<const FetchRefs::Entry> entries =
      named_ == nullptr ? std::span<const FetchRefs::Entry>() : named_->entries();
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].tag == tag) return results_[results_.size() - entries.size() + i];
  }
  throw NotFoundError(
      "a hook reads the result '{}' of a run for which it has not asked: return it in named_fetches from before_run",
      tag);
}

}  // namespace trainhook
