// SPDX-License-Identifier: Apache-2.0
/// @file
/// FinalOpsHook: computes something once, when training is over.
#pragma once

#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include <trainhook/core/inline_vector.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/hooks/fetch_ref.hpp>
#include <trainhook/session/run_args.hpp>
#include <trainhook/session/session_ref.hpp>
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
  /// @param final_ops one, several, or several with names: `accuracy`, `{loss, accuracy}`, `{{"hits", accuracy},
  /// {"loss", loss}}`
  TRAINHOOK_DECL explicit FinalOpsHook(FetchRefs final_ops);
  explicit FinalOpsHook(std::initializer_list<FetchRef> final_ops) : FinalOpsHook(FetchRefs(final_ops)) {}
  explicit FinalOpsHook(std::initializer_list<TaggedFetchRef> final_ops) : FinalOpsHook(FetchRefs(final_ops)) {}
  TRAINHOOK_DECL FinalOpsHook(FetchRefs final_ops, Options options);

  /// The values in the order given, or by name where names were given; empty until `end` succeeded. An operation's is
  /// an empty Tensor.
  [[nodiscard]] std::span<const Tensor> final_ops_values() const noexcept { return values_; }
  [[nodiscard]] bool has_values() const noexcept { return !values_.empty(); }

  /// The value of that name. @throws NotFoundError for another name, FailedPreconditionError where there are no values
  /// yet.
  [[nodiscard]] TRAINHOOK_DECL const Tensor& final_ops_value(std::string_view name) const;

  [[nodiscard]] HookPhase phase() const noexcept override { return HookPhase::Report; }

  TRAINHOOK_DECL void begin(Graph& graph) override;
  TRAINHOOK_DECL void end(SessionRef session) override;

 private:
  FetchRefs final_ops_;
  FeedDict feeds_;
  FetchList fetches_;
  std::vector<Tensor> values_;
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/hooks/impl/final_ops_hook.ipp>
#endif
