// SPDX-License-Identifier: Apache-2.0
/// @file
/// KeepRules: which checkpoints of a run stay, by LatestN, EveryNSteps, EveryNSeconds and BestN. KeepChoice: the seam
/// by which a saver uses them.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include <trainhook/core/duration.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/session/metric.hpp>

namespace trainhook {

class FileSystem;

/// Keeps the `n` newest checkpoints.
class LatestN {
 public:
  /// @throws InvalidArgumentError for a number below 1.
  TRAINHOOK_DECL explicit LatestN(int n);
  [[nodiscard]] int n() const noexcept { return n_; }

 private:
  int n_;
};

/// Keeps the first checkpoint of each `n` steps: with 1000, the first at or after step 0, 1000, 2000 and so on.
class EveryNSteps {
 public:
  /// @throws InvalidArgumentError for a number below 1.
  TRAINHOOK_DECL explicit EveryNSteps(std::int64_t n);
  [[nodiscard]] std::int64_t n() const noexcept { return n_; }

 private:
  std::int64_t n_;
};

/// Keeps the first checkpoint of each period of the wall clock: with one hour, the first after each full hour.
class EveryNSeconds {
 public:
  /// @throws InvalidArgumentError for a period of less than a second.
  TRAINHOOK_DECL explicit EveryNSeconds(Duration period);
  [[nodiscard]] Duration period() const noexcept { return period_; }

 private:
  Duration period_;
};

/// Keeps the `n` checkpoints whose metric is best, of those that were evaluated at their own step, before the save: let
/// an EvaluationHook evaluate at the steps of the saves.
class BestN {
 public:
  /// @param metric its name, such as `eval/loss`
  /// @throws InvalidArgumentError for a number below 1, or no name.
  TRAINHOOK_DECL BestN(int n, std::string metric, Better better = Better::Lower);
  [[nodiscard]] int n() const noexcept { return n_; }
  [[nodiscard]] const std::string& metric() const noexcept { return metric_; }
  [[nodiscard]] Better better() const noexcept { return better_; }

 private:
  int n_;
  std::string metric_;
  Better better_;
};

/// A list of them keeps what any of them keeps.
using KeepRule = std::variant<LatestN, EveryNSteps, EveryNSeconds, BestN>;

namespace detail {

/// A checkpoint in a state file.
struct ListedCheckpoint {
  std::string prefix{};
  double time = 0;         ///< of its commit, in seconds since the Unix epoch
  bool has_stamp = false;  ///< false: `time` is that of its file
};

/// The rules of one saver at work. A saver without rules does not know what they do.
class KeepChoice {
 public:
  KeepChoice() = default;
  KeepChoice(const KeepChoice&) = delete;
  KeepChoice& operator=(const KeepChoice&) = delete;
  TRAINHOOK_DECL virtual ~KeepChoice();

  /// Moves the checkpoints that no rule keeps from `kept` to `doomed`. The last one is the newest, and stays.
  virtual void choose(FileSystem& file_system, std::vector<ListedCheckpoint>& kept,
                      std::vector<ListedCheckpoint>& doomed) = 0;

  /// This checkpoint was saved again.
  virtual void forget(const std::string& prefix) = 0;
};

/// What the rules know of a checkpoint.
struct KeepCandidate {
  std::int64_t step = 0;
  double time = 0;                              ///< of its commit, in seconds since the Unix epoch
  std::vector<std::optional<double>> values{};  ///< one for each rule: the metric of a BestN
};

/// Whether each of the checkpoints, oldest first, stays; the newest does in any case.
[[nodiscard]] TRAINHOOK_DECL std::vector<bool> kept_by(std::span<const KeepRule> rules,
                                                       std::span<const KeepCandidate> checkpoints);

}  // namespace detail

/// Which checkpoints stay: `{LatestN(5), BestN(3, "eval/loss")}`. Empty: others decide.
class KeepRules {
 public:
  KeepRules() = default;
  TRAINHOOK_DECL KeepRules(std::initializer_list<KeepRule> rules);
  TRAINHOOK_DECL explicit KeepRules(std::vector<KeepRule> rules);

  [[nodiscard]] bool empty() const noexcept { return start_ == nullptr; }

  /// For a saver. Null if there are no rules.
  [[nodiscard]] std::shared_ptr<detail::KeepChoice> start() const { return empty() ? nullptr : start_(); }

 private:
  std::function<std::shared_ptr<detail::KeepChoice>()> start_;
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/checkpoint/impl/keep_rule.ipp>
#endif
