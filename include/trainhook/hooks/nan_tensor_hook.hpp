// SPDX-License-Identifier: Apache-2.0
/// @file
/// NanTensorHook: stops training if a tensor is no longer finite, before the model is saved.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>

#include <trainhook/core/error.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/session/fetch_refs.hpp>
#include <trainhook/session/session_run_hook.hpp>

namespace trainhook {

/// A NanTensorHook found NaN or infinity in a tensor.
class NanLossDuringTrainingError : public FailedPreconditionError {
 public:
  using FailedPreconditionError::FailedPreconditionError;
};

/// Checks tensors in every run. If one contains NaN or infinity, the run fails or a stop is requested, and the model is
/// not saved until a run is finite again or the session was restored. Source: TensorFlow's `NanTensorHook`, which
/// watches one scalar for NaN only.
class NanTensorHook : public SessionRunHook {
 public:
  struct Options {
    /// False: log a warning and request a stop instead of throwing NanLossDuringTrainingError.
    bool fail_on_nan_loss = true;
  };

  /// @param tensors one or several, by handle or name: `loss`, `"loss"`, `{loss, norm}`
  /// @throws InvalidArgumentError if there is none.
  TRAINHOOK_DECL explicit NanTensorHook(FetchRefs tensors);
  explicit NanTensorHook(std::initializer_list<FetchRefs::Item> tensors) : NanTensorHook(FetchRefs(tensors)) {}
  TRAINHOOK_DECL NanTensorHook(FetchRefs tensors, Options options);
  TRAINHOOK_DECL NanTensorHook(NanTensorHook&& other) noexcept;
  TRAINHOOK_DECL ~NanTensorHook() override;

  [[nodiscard]] HookPhase phase() const noexcept override { return HookPhase::Check; }

  /// @throws InvalidArgumentError for a tensor that can never be NaN, such as one of integers.
  TRAINHOOK_DECL void begin(Graph& graph) override;

  void after_create_session(SessionRef /*session*/, Coordinator& /*coordinator*/) override { problem_.reset(); }

  SessionRunArgs before_run(SessionRunContext& /*context*/) override { return {.fetches = fetches_}; }

  TRAINHOOK_DECL void after_run(SessionRunContext& context, const SessionRunValues& values) override;

  [[nodiscard]] std::optional<std::string> veto_save() override { return problem_; }

 private:
  TRAINHOOK_DECL void report(SessionRunContext& context, std::size_t index, const Tensor& value, std::size_t place);

  FetchRefs tensors_;
  Options options_;
  FetchList fetches_;
  std::optional<std::string> problem_;  // of the last run
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/hooks/impl/nan_tensor_hook.ipp>
#endif
