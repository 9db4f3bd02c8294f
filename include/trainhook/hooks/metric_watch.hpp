// SPDX-License-Identifier: Apache-2.0
/// @file
/// MetricWatch: tracks the improvement of a published metric, for hooks that act on it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <trainhook/core/linkage.hpp>
#include <trainhook/core/saveable.hpp>
#include <trainhook/session/metric.hpp>

namespace trainhook {

class HookServices;

namespace detail {

/// The best value of a metric, and the number of values since that were no improvement. It is part of its hook's state.
class MetricWatch {
 public:
  /// @param min_delta an improvement must be larger than this
  MetricWatch(Better better, double min_delta) noexcept : better_(better), min_delta_(min_delta) {}

  /// Takes the newest value, which may be null. False if it is an extra one, or a value of the same step was taken
  /// before.
  TRAINHOOK_DECL bool take(const PublishedMetric* newest) noexcept;

  [[nodiscard]] std::optional<double> best() const noexcept { return best_; }
  [[nodiscard]] std::int64_t best_step() const noexcept { return best_step_; }

  /// For messages: `best 0.5 at step 30`, or that there was none.
  [[nodiscard]] TRAINHOOK_DECL std::string best_text() const;
  [[nodiscard]] std::int64_t worse() const noexcept { return worse_; }  ///< values in a row without an improvement
  [[nodiscard]] bool has_seen_one() const noexcept { return seen_.has_value(); }

  /// Resets that count to 0.
  void forgive() noexcept { worse_ = 0; }

  void reset() noexcept { *this = MetricWatch(better_, min_delta_); }

  /// For `after_create_session`: forgets everything, unless it was loaded with this session. Returns whether it was.
  bool reset_unless_loaded() noexcept {
    if (std::exchange(loaded_, false)) return true;
    reset();
    return false;
  }
  TRAINHOOK_DECL void save(StateValues& state) const;
  TRAINHOOK_DECL void load(const StateValues& state);

 private:
  Better better_;
  double min_delta_;
  std::optional<double> best_;
  std::int64_t best_step_ = 0;
  std::optional<std::int64_t> seen_;  // the step of the last value
  std::int64_t worse_ = 0;
  bool loaded_ = false;
};

/// For the end of a run whose hook has seen no value of its metric: logs a warning if none was published, unless the
/// run was interrupted.
TRAINHOOK_DECL void warn_if_never_published(std::string_view hook, std::string_view metric,
                                            const HookServices& services);

}  // namespace detail
}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/hooks/impl/metric_watch.ipp>
#endif
