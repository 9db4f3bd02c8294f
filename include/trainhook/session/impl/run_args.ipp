// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of run_args.hpp.
#pragma once

#include <trainhook/session/run_args.hpp>

namespace trainhook {

TRAINHOOK_DECL const Tensor& RunResults::operator[](std::string_view tag) const {
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
