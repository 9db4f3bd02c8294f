// SPDX-License-Identifier: Apache-2.0
/// @file
/// FinalOpsHook: computes something once, when training is over.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <trainhook/core/log.hpp>
#include <trainhook/hooks/fetch_ref.hpp>
#include <trainhook/session/session_run_hook.hpp>

namespace trainhook {

/// Runs `final_ops` in one run when the session ends, and keeps the values: share the hook to look at them afterwards.
/// They run after the last checkpoint is written: what they change is not in it.
/// Source: TensorFlow's `FinalOpsHook`.
class FinalOpsHook final : public SessionRunHook {
 public:
  struct Options {
    FeedDict final_ops_feed_dict{};
  };

  FinalOpsHook() = default;
  /// @param final_ops one, several, or several with names: `accuracy`, `{loss, accuracy}`, `{{"hits", accuracy}, {"loss", loss}}`
  explicit FinalOpsHook(FetchRefs final_ops) : FinalOpsHook(std::move(final_ops), Options{}) {}
  explicit FinalOpsHook(std::initializer_list<FetchRef> final_ops) : FinalOpsHook(FetchRefs(final_ops)) {}
  explicit FinalOpsHook(std::initializer_list<TaggedFetchRef> final_ops) : FinalOpsHook(FetchRefs(final_ops)) {}
  FinalOpsHook(FetchRefs final_ops, Options options) : final_ops_(std::move(final_ops)), feeds_(std::move(options.final_ops_feed_dict)) {}

  /// The values in the order given, or by name where names were given; empty until `end` succeeded. An operation's is an empty Tensor.
  [[nodiscard]] std::span<const Tensor> final_ops_values() const noexcept { return values_; }
  [[nodiscard]] bool has_values() const noexcept { return !values_.empty(); }

  /// The value of that name. @throws NotFoundError for another name, FailedPreconditionError where there are no values yet.
  [[nodiscard]] const Tensor& final_ops_value(std::string_view name) const {
    for (std::size_t i = 0; i < final_ops_.size(); ++i) {
      if (final_ops_.entries()[i].tag != name) continue;
      if (values_.empty()) throw FailedPreconditionError("FinalOpsHook: '", name, "' has no value before the session has ended");
      return values_[i];
    }
    throw NotFoundError("FinalOpsHook: none of the final ops is called '", name, "'");
  }

  [[nodiscard]] HookPhase phase() const noexcept override { return HookPhase::Report; }

  void begin(Graph& graph) override {
    values_.clear();
    fetches_ = final_ops_.resolve(graph, "FinalOpsHook");
    for (const Feed& feed : feeds_) graph.check_belongs(feed.key, "a key of final_ops_feed_dict of", "FinalOpsHook");
  }

  void end(SessionRef session) override {
    if (fetches_.empty()) return;
    try {
      values_ = session.run(std::span<const Fetch>(fetches_), feeds_);
    } catch (const OutOfRangeError&) {
      log_warning(
          "FinalOpsHook: the end of input was reached while the final ops ran; probably one of them has a dependency back to some input "
          "source, which they must not have. Feed them through final_ops_feed_dict, or read from a constant");
      throw;
    }
  }

 private:
  FetchRefs final_ops_;
  FeedDict feeds_;
  FetchList fetches_;
  std::vector<Tensor> values_;
};

}  // namespace trainhook
