// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/checkpoint/keep_rule.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <utility>

#include <trainhook/core/error.hpp>

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

}  // namespace trainhook::detail

namespace trainhook {

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
