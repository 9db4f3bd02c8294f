// SPDX-License-Identifier: Apache-2.0
/// @file
/// NanTensorHook: ends training when a tensor is no longer finite, before anything saves it.
#pragma once

#include <cmath>
#include <complex>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/hooks/fetch_ref.hpp>
#include <trainhook/session/run_args.hpp>
#include <trainhook/session/run_context.hpp>
#include <trainhook/session/session_ref.hpp>
#include <trainhook/session/session_run_hook.hpp>

namespace trainhook {

/// The loss, or whatever else a NanTensorHook watches, is NaN or infinite.
class NanLossDuringTrainingError : public FailedPreconditionError {
 public:
  using FailedPreconditionError::FailedPreconditionError;
};

namespace detail {

inline bool is_finite(float value) noexcept { return std::isfinite(value); }
inline bool is_finite(double value) noexcept { return std::isfinite(value); }
inline bool is_finite(Half value) noexcept { return (value.bits & 0x7c00) != 0x7c00; }
inline bool is_finite(BFloat16 value) noexcept { return (value.bits & 0x7f80) != 0x7f80; }
template <class T>
bool is_finite(const std::complex<T>& value) noexcept {
  return std::isfinite(value.real()) && std::isfinite(value.imag());
}

/// Where the first element stands that is NaN or infinite.
TRAINHOOK_DECL std::optional<std::size_t> first_not_finite(const Tensor& tensor);

}  // namespace detail

/// Watches tensors in every run. As soon as one holds NaN or infinity the run fails, or a stop is requested; and until
/// a run is good again, or the session was restored, the model is not saved. Source: TensorFlow's `NanTensorHook`,
/// which knows NaN in one scalar only.
class NanTensorHook final : public SessionRunHook {
 public:
  struct Options {
    bool fail_on_nan_loss =
        true;  ///< false: log a warning and request a stop instead of throwing NanLossDuringTrainingError
  };

  /// @param tensors one or several, by handle or name: `loss`, `"loss"`, `{loss, norm}`
  /// @throws InvalidArgumentError where there is none.
  TRAINHOOK_DECL explicit NanTensorHook(FetchRefs tensors);
  explicit NanTensorHook(std::initializer_list<FetchRef> tensors) : NanTensorHook(FetchRefs(tensors)) {}
  TRAINHOOK_DECL NanTensorHook(FetchRefs tensors, Options options);

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
