// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/checkpoint/keep_rule.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <map>
#include <utility>

#include <fmt/format.h>

#include <trainhook/checkpoint/bundle/bundle_reader.hpp>
#include <trainhook/checkpoint/checkpoint_state.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>

namespace trainhook::detail {

template <class Number>
Number at_least_one(const char* rule, Number n) {
  if (n < 1) throw InvalidArgumentError("{}: n is {}; it must be at least 1", rule, n);
  return n;
}

/// Marks the first checkpoint of each period, which a function numbers.
template <class Period>
void keep_first_of_each(std::vector<bool>& kept, std::span<const KeepCandidate> checkpoints, Period period) {
  std::vector<double> seen;
  for (std::size_t i = 0; i < checkpoints.size(); ++i) {
    const double number = std::floor(period(checkpoints[i]));
    if (std::ranges::find(seen, number) != seen.end()) continue;
    seen.push_back(number);
    kept[i] = true;
  }
}

inline void keep_best(std::vector<bool>& kept, std::span<const KeepCandidate> checkpoints, std::size_t rule,
                      const BestN& best) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < checkpoints.size(); ++i) {
    if (checkpoints[i].values[rule] && !is_nan(*checkpoints[i].values[rule])) order.push_back(i);
  }
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    return is_better(best.better(), *checkpoints[a].values[rule], checkpoints[b].values[rule]);
  });
  for (std::size_t i = 0; i < order.size() && i < static_cast<std::size_t>(best.n()); ++i) kept[order[i]] = true;
}

std::vector<bool> kept_by(std::span<const KeepRule> rules, std::span<const KeepCandidate> checkpoints) {
  std::vector<bool> kept(checkpoints.size());
  if (!kept.empty()) kept.back() = true;
  for (std::size_t rule = 0; rule < rules.size(); ++rule) {
    if (const auto* const latest = std::get_if<LatestN>(&rules[rule])) {
      const std::size_t n = (std::min)(kept.size(), static_cast<std::size_t>(latest->n()));
      std::fill(kept.end() - static_cast<std::ptrdiff_t>(n), kept.end(), true);
    } else if (const auto* const steps = std::get_if<EveryNSteps>(&rules[rule])) {
      keep_first_of_each(kept, checkpoints, [&](const KeepCandidate& one) {
        return static_cast<double>(one.step) / static_cast<double>(steps->n());
      });
    } else if (const auto* const seconds = std::get_if<EveryNSeconds>(&rules[rule])) {
      keep_first_of_each(kept, checkpoints, [&](const KeepCandidate& one) {
        return one.time / std::chrono::duration<double>(seconds->period()).count();
      });
    } else {
      keep_best(kept, checkpoints, rule, std::get<BestN>(rules[rule]));
    }
  }
  return kept;
}

KeepChoice::~KeepChoice() = default;

/// Remembers metrics, so that each checkpoint is opened once.
class RuleChoice final : public KeepChoice {
 public:
  explicit RuleChoice(std::vector<KeepRule> rules) : rules_(std::move(rules)) {}

  void choose(FileSystem& file_system, std::vector<ListedCheckpoint>& kept,
              std::vector<ListedCheckpoint>& doomed) override {
    if (kept.empty()) return;
    // A killed process may have listed what goes before what stays; the newest is the last in any case.
    std::ranges::stable_sort(kept.begin(), kept.end() - 1, {}, &ListedCheckpoint::time);
    std::vector<KeepCandidate> candidates;
    std::vector<bool> unread;
    for (const ListedCheckpoint& one : kept) {
      const auto values = values_of(file_system, one.prefix);
      unread.push_back(!values);
      candidates.push_back({.step = step_of_checkpoint(one.prefix).value_or(0),
                            .time = one.time,
                            .values = values.value_or(Values(rules_.size()))});
    }
    warn_of_metrics(candidates, kept.back().prefix);
    const std::vector<bool> stays = kept_by(rules_, candidates);
    std::vector<ListedCheckpoint> staying;
    for (std::size_t i = 0; i < kept.size(); ++i)
      (stays[i] || unread[i] ? staying : doomed).push_back(std::move(kept[i]));
    kept = std::move(staying);
  }

  void forget(const std::string& prefix) override { values_.erase(prefix); }

 private:
  using Values = std::vector<std::optional<double>>;

  // Nothing if the checkpoint cannot be read now.
  std::optional<Values> values_of(FileSystem& file_system, const std::string& prefix) {
    if (const auto known = values_.find(prefix); known != values_.end()) return known->second;
    Values values(rules_.size());
    try {
      std::optional<BundleReader> reader;
      for (std::size_t i = 0; i < values.size(); ++i) {
        const auto* const best = std::get_if<BestN>(&rules_[i]);
        if (best == nullptr) continue;
        if (!reader) reader.emplace(prefix, BundleReaderOptions{.file_system = &file_system});
        const std::string step = fmt::format("{}/step/{}", kMetricsState, best->metric());
        if (reader->has_tensor(step) && reader->get_tensor(step).scalar<std::int64_t>() == step_of_checkpoint(prefix))
          values[i] = reader->get_tensor(fmt::format("{}/value/{}", kMetricsState, best->metric())).scalar<double>();
      }
    } catch (const DataLossError&) {  // it has no metric
    } catch (const NotFoundError&) {
    } catch (const Error& error) {
      log_warning("the metrics of {} cannot be read now, so it is kept: {}", prefix, error);
      return std::nullopt;
    }
    values_.emplace(prefix, values);
    return values;
  }

  void warn_of_metrics(std::span<const KeepCandidate> candidates, const std::string& newest) {
    for (std::size_t rule = 0; rule < rules_.size() && candidates.size() > 1; ++rule) {
      const auto* const best = std::get_if<BestN>(&rules_[rule]);
      const auto has_value = [rule](const KeepCandidate& one) { return one.values[rule].has_value(); };
      if (best == nullptr || std::ranges::any_of(candidates, has_value) || std::exchange(has_warned_, true)) continue;
      log_warning(
          "BestN: neither {} nor a checkpoint before it has a value of '{}' that was measured at its own step; name "
          "the "
          "metric of an EvaluationHook that evaluates at the steps of the saves",
          newest, best->metric());
    }
  }

  std::vector<KeepRule> rules_;
  std::map<std::string, Values> values_;
  bool has_warned_ = false;
};

}  // namespace trainhook::detail

namespace trainhook {

KeepRules::KeepRules(std::initializer_list<KeepRule> rules) : KeepRules(std::vector<KeepRule>(rules)) {}

KeepRules::KeepRules(std::vector<KeepRule> rules) {
  if (!rules.empty()) start_ = [rules = std::move(rules)] { return std::make_shared<detail::RuleChoice>(rules); };
}

LatestN::LatestN(int n) : n_(detail::at_least_one("LatestN", n)) {}

EveryNSteps::EveryNSteps(std::int64_t n) : n_(detail::at_least_one("EveryNSteps", n)) {}

EveryNSeconds::EveryNSeconds(Duration period) : period_(period) {
  if (period < std::chrono::seconds(1))
    throw InvalidArgumentError("EveryNSeconds: the period is {}; it must be at least a second", duration_text(period));
}

BestN::BestN(int n, std::string metric, Better better)
    : n_(detail::at_least_one("BestN", n)), metric_(std::move(metric)), better_(better) {
  if (metric_.empty()) throw InvalidArgumentError("BestN: give the name of a metric, such as eval/loss");
}

}  // namespace trainhook
