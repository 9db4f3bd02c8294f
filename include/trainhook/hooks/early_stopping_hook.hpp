// SPDX-License-Identifier: Apache-2.0
/// @file
/// EarlyStoppingHook: stops a run whose metric no longer improves.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <trainhook/core/linkage.hpp>
#include <trainhook/hooks/metric_watch.hpp>
#include <trainhook/session/session_run_hook.hpp>

namespace trainhook {

/// Requests a stop when a published metric, such as an EvaluationHook's `eval/loss`, has not improved `patience` times
/// in a row. The best value survives restarts; a run that it stopped stops at once if it is started again. NaN is never
/// better. List it after the hook that publishes the metric.
class EarlyStoppingHook final : public SessionRunHook {
 public:
  struct Options {
    std::string metric = "eval/loss";
    Better better = Better::Lower;
    int patience = 1;      ///< stops after this many values in a row without an improvement
    double min_delta = 0;  ///< an improvement must be larger than this
    std::string name{};    ///< of its state in checkpoints; empty: from the metric and `better`
  };

  explicit EarlyStoppingHook(detail::NoOptions = {}) : EarlyStoppingHook(Options{}) {}
  /// @throws InvalidArgumentError unless `patience` is at least 1 and `min_delta` at least 0.
  TRAINHOOK_DECL explicit EarlyStoppingHook(Options options);
  EarlyStoppingHook(EarlyStoppingHook&& other) noexcept = default;

  /// The best value so far and its step; nothing before the first.
  [[nodiscard]] std::optional<double> best() const noexcept { return watch_.best(); }
  [[nodiscard]] std::int64_t best_step() const noexcept { return watch_.best_step(); }
  [[nodiscard]] bool has_stopped() const noexcept { return watch_.worse() >= options_.patience; }

  TRAINHOOK_DECL void begin(Graph& graph) override;
  TRAINHOOK_DECL void after_create_session(SessionRef session, Coordinator& coordinator) override;
  TRAINHOOK_DECL void after_run(SessionRunContext& context, const SessionRunValues& values) override;

  /// Logs a warning if the metric was never published.
  TRAINHOOK_DECL void end(SessionRef session) override;

  [[nodiscard]] TRAINHOOK_DECL std::string name() const override;
  [[nodiscard]] TRAINHOOK_DECL StateValues save_state() override;
  TRAINHOOK_DECL void load_state(const StateValues& state) override;

 private:
  [[nodiscard]] TRAINHOOK_DECL std::string reason() const;

  Options options_;
  detail::MetricWatch watch_;
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/hooks/impl/early_stopping_hook.ipp>
#endif
