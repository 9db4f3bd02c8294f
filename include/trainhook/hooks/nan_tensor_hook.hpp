// SPDX-License-Identifier: Apache-2.0
/// @file
/// NanTensorHook: ends training when a tensor is no longer finite, before anything saves it.
#pragma once

#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <trainhook/core/log.hpp>
#include <trainhook/hooks/fetch_ref.hpp>
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

inline constexpr bool can_be_infinite(DType dtype) noexcept {
  return is_floating(dtype) || dtype == DType::Complex64 || dtype == DType::Complex128;
}

/// Where the first element stands that is NaN or infinite.
inline std::optional<std::size_t> first_not_finite(const Tensor& tensor) {
  const auto search = [](const auto& elements) -> std::optional<std::size_t> {
    for (std::size_t i = 0; i < elements.size(); ++i) {
      if (!is_finite(elements[i])) return i;
    }
    return std::nullopt;
  };
  switch (tensor.dtype()) {
    case DType::Float: return search(tensor.data<float>());
    case DType::Double: return search(tensor.data<double>());
    case DType::Half: return search(tensor.data<Half>());
    case DType::BFloat16: return search(tensor.data<BFloat16>());
    case DType::Complex64: return search(tensor.data<std::complex<float>>());
    case DType::Complex128: return search(tensor.data<std::complex<double>>());
    default: return std::nullopt;
  }
}

}  // namespace detail

/// Watches tensors in every run. As soon as one holds NaN or infinity the run fails, or a stop is requested; and until a run is good again,
/// or the session was restored, the model is not saved. Source: TensorFlow's `NanTensorHook`, which knows NaN in one scalar only.
class NanTensorHook final : public SessionRunHook {
 public:
  struct Options {
    bool fail_on_nan_loss = true;  ///< false: log a warning and request a stop instead of throwing NanLossDuringTrainingError
  };

  /// @param tensors one or several, by handle or name: `loss`, `"loss"`, `{loss, norm}`
  /// @throws InvalidArgumentError where there is none.
  explicit NanTensorHook(FetchRefs tensors) : NanTensorHook(std::move(tensors), Options{}) {}
  explicit NanTensorHook(std::initializer_list<FetchRef> tensors) : NanTensorHook(FetchRefs(tensors)) {}
  NanTensorHook(FetchRefs tensors, Options options) : tensors_(std::move(tensors)), options_(options) {
    if (tensors_.empty()) throw InvalidArgumentError("NanTensorHook: no tensor is given; give at least one, such as the loss");
  }

  [[nodiscard]] HookPhase phase() const noexcept override { return HookPhase::Check; }

  /// @throws InvalidArgumentError for a tensor that can never be NaN, such as one of integers.
  void begin(Graph& graph) override {
    fetches_ = tensors_.resolve_outputs(graph, "NanTensorHook");
    for (const Fetch& fetch : fetches_) {
      const Output tensor(&fetch.node(), static_cast<std::size_t>(fetch.index()));
      if (!detail::can_be_infinite(tensor.dtype())) {
        throw InvalidArgumentError("NanTensorHook: '", tensor.name(), "' is ", dtype_name(tensor.dtype()),
                                   ", which is never NaN; watch a floating-point tensor");
      }
    }
  }

  void after_create_session(SessionRef /*session*/, Coordinator& /*coordinator*/) override { problem_.reset(); }

  SessionRunArgs before_run(SessionRunContext& /*context*/) override { return {.fetches = fetches_}; }

  void after_run(SessionRunContext& context, const SessionRunValues& values) override {
    for (std::size_t i = 0; i < values.results.size(); ++i) {
      if (const std::optional<std::size_t> place = detail::first_not_finite(values.results[i])) {
        report(context, i, values.results[i], *place);
        return;
      }
    }
    problem_.reset();
  }

  [[nodiscard]] std::optional<std::string> veto_save() override { return problem_; }

 private:
  void report(SessionRunContext& context, std::size_t index, const Tensor& value, std::size_t place) {
    const std::string element = value.shape().rank() == 0 ? std::string() : str_cat(" (element ", place, " of ", value, ")");
    problem_ = str_cat("tensor '", tensors_.entries()[index].tag, "' is NaN or infinite", element);
    if (options_.fail_on_nan_loss) {
      log_error("Model diverged with loss = NaN: ", *problem_);
      throw NanLossDuringTrainingError("NaN loss during training: ", *problem_,
                                       "; lower the learning rate, or go on from an earlier checkpoint");
    }
    log_warning("Model diverged with loss = NaN: ", *problem_, "; training stops");
    context.request_stop();
  }

  FetchRefs tensors_;
  Options options_;
  FetchList fetches_;
  std::optional<std::string> problem_;  // of the last run
};

}  // namespace trainhook
