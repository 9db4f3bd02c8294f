// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/monitored/merged_run.hpp>

#include <algorithm>
#include <utility>

#include <trainhook/core/error.hpp>
#include <trainhook/graph/node.hpp>

namespace trainhook::detail {

void MergedRun::begin(const RunRequest& request) {
  fetches_.assign(request.fetches.begin(), request.fetches.end());
  feeds_.clear();
  slices_.clear();
  named_.clear();
  options_.reset();
  if (request.options != nullptr) options_.emplace(*request.options);  // g++ 14 warns of an assignment
}

void MergedRun::add(const SessionRunArgs& args, SessionRef session) {
  Slice slice{fetches_.size(), args.fetches.size(), 0};
  fetches_.insert(fetches_.end(), args.fetches.begin(), args.fetches.end());
  if (!args.named_fetches.empty()) {
    const FetchList named = args.named_fetches.resolve(session.graph(), "named_fetches");
    fetches_.insert(fetches_.end(), named.begin(), named.end());
    slice.count += named.size();
    named_.push_back(args.named_fetches);
    slice.named = named_.size();
  }
  slices_.push_back(slice);
  if (!args.feed_dict.empty()) {
    if (has_names(args.feed_dict)) {
      add_feeds(without_names(args.feed_dict, session.graph(), "a feed of a hook"));
    } else {
      add_feeds(args.feed_dict);
    }
  }
  if (args.options) {
    if (!options_) options_.emplace();
    options_->merge(*args.options);
  }
}

void MergedRun::add_feeds(std::span<const Feed> feeds) {
  for (const Feed& feed : feeds) add_feed(feed, feeds_.size(), "two hooks");
}

void MergedRun::add_feed(const Feed& feed, std::size_t from_others, std::string_view feeders) {
  const std::span<const Feed> earlier = std::span(feeds_).first(from_others);
  if (std::ranges::find(earlier, feed.key, &Feed::key) != earlier.end())
    throw FailedPreconditionError("Same tensor is fed by {}: '{}'; leave it to one of them", feeders, feed.key.name());
  feeds_.push_back(feed);
}

void MergedRun::execute(SessionRef session, const RunRequest& request) {
  const std::size_t from_hooks = feeds_.size();
  for (const Feed& feed : request.feed_dict) add_feed(feed, from_hooks, "a SessionRunHook and user");
  used_metadata_ = request.metadata != nullptr ? request.metadata : &metadata_;
  used_metadata_->node_stats.clear();
  results_.resize(fetches_.size());
  session.execute({.fetches = fetches_,
                   .feed_dict = feeds_,
                   .options = options_ ? &*options_ : nullptr,
                   .metadata = options_ || request.metadata != nullptr ? used_metadata_ : nullptr,
                   .step = request.step},
                  results_);
}

SessionRunValues MergedRun::values_of(std::size_t index) const noexcept {
  const Slice& slice = slices_[index];
  return {.results = {std::span<const Tensor>(results_).subspan(slice.begin, slice.count),
                      slice.named == 0 ? nullptr : &named_[slice.named - 1]},
          .options = options_ ? &*options_ : &no_options_,
          .run_metadata = used_metadata_};
}

void MergedRun::give_results(std::span<Tensor> results) noexcept {
  std::move(results_.begin(), results_.begin() + static_cast<std::ptrdiff_t>(results.size()), results.begin());
}

void MergedRun::release() noexcept {
  for (Tensor& result : results_) result = Tensor();
  feeds_.clear();
}

}  // namespace trainhook::detail
