// SPDX-License-Identifier: Apache-2.0
/// @file
/// FinalOpsHook: computes values once, at the end of training.
#pragma once

#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/session/fetch_refs.hpp>
#include <trainhook/session/session_run_hook.hpp>

namespace trainhook {

/// Runs `final_ops` in one run when the session ends, and keeps their values: pass the hook as a shared pointer to read
/// them afterwards. The run comes after the last checkpoint, so its changes are not saved. Source: TensorFlow's
/// `FinalOpsHook`.
class FinalOpsHook : public SessionRunHook {
 public:
  struct Options {
    FeedDict final_ops_feed_dict{};
  };

  FinalOpsHook() = default;
  /// @param final_ops one, several, or several with names: `accuracy`, `{loss, accuracy}`, `{{"hits", accuracy},
  /// {"loss", loss}}`
  TRAINHOOK_DECL explicit FinalOpsHook(FetchRefs final_ops);
  explicit FinalOpsHook(std::initializer_list<FetchRefs::Item> final_ops) : FinalOpsHook(FetchRefs(final_ops)) {}
  explicit FinalOpsHook(std::initializer_list<FetchRefs::TaggedItem> final_ops) : FinalOpsHook(FetchRefs(final_ops)) {}
  TRAINHOOK_DECL FinalOpsHook(FetchRefs final_ops, Options options);
  TRAINHOOK_DECL FinalOpsHook(FinalOpsHook&& other) noexcept;
  TRAINHOOK_DECL ~FinalOpsHook() override;

  /// The values in the given order, or sorted by name if names were given; empty until `end` has succeeded. The value
  /// of an operation is an empty Tensor.
  [[nodiscard]] std::span<const Tensor> final_ops_values() const noexcept { return values_; }
  [[nodiscard]] bool has_values() const noexcept { return !values_.empty(); }

  /// The value of that name. @throws NotFoundError for another name, FailedPreconditionError if there are no values
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
