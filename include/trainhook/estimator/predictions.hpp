// SPDX-License-Identifier: Apache-2.0
/// @file
/// Predictions: a model's predictions, one element after another.
#pragma once

#include <cstddef>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include <trainhook/core/tensor.hpp>

namespace trainhook {

/// The values for one element or one batch, by the names of the predictions.
using Prediction = std::map<std::string, Tensor, std::less<>>;

/// A single-pass range, the result of `Estimator::predict`. Owns the session that computes it.
class Predictions {
 public:
  /// @param next returns the next prediction, or null after the last; the result is valid until the next call
  explicit Predictions(std::function<const Prediction*()> next) : next_(std::move(next)) {}

  /// The next prediction, valid until the next call; null after the last, when the session has ended.
  [[nodiscard]] const Prediction* next() { return next_(); }

  class Iterator {
   public:
    using value_type = Prediction;
    using difference_type = std::ptrdiff_t;

    explicit Iterator(Predictions& from) : from_(&from), now_(from.next()) {}
    const Prediction& operator*() const noexcept { return *now_; }
    Iterator& operator++() {
      now_ = from_->next();
      return *this;
    }
    void operator++(int) { ++*this; }
    friend bool operator==(const Iterator& it, std::default_sentinel_t) noexcept { return it.now_ == nullptr; }

   private:
    Predictions* from_;
    const Prediction* now_;
  };
  [[nodiscard]] Iterator begin() { return Iterator(*this); }
  [[nodiscard]] static std::default_sentinel_t end() noexcept { return {}; }

 private:
  std::function<const Prediction*()> next_;
};

}  // namespace trainhook
