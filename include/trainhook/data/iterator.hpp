// SPDX-License-Identifier: Apache-2.0
/// @file
/// Iterator: a thread-safe iterator over a dataset, with its state as a tensor.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/data/dataset.hpp>
#include <trainhook/data/element.hpp>
#include <trainhook/graph/saved_input.hpp>

namespace trainhook {

/// An iterator of a loop, or the value of an `IteratorV2` node in a session. Any thread may call any member; each
/// element goes to one caller.
class Iterator {
 public:
  TRAINHOOK_DECL explicit Iterator(Dataset dataset);
  Iterator(const Iterator&) = delete;
  Iterator& operator=(const Iterator&) = delete;
  TRAINHOOK_DECL ~Iterator();

  [[nodiscard]] const Dataset& dataset() const noexcept { return dataset_; }
  [[nodiscard]] const ElementSpec& element_spec() const noexcept { return dataset_.element_spec(); }

  /// Fetches the next element. Passing the same `element` again reuses its memory. @throws OutOfRangeError at the end.
  TRAINHOOK_DECL void get_next(Element& element);
  /// The same, but returns false at the end.
  [[nodiscard]] TRAINHOOK_DECL bool try_get_next(Element& element);

  /// Returns to the beginning.
  TRAINHOOK_DECL void initialize();

  /// The position as a string scalar. @throws FailedPreconditionError if the pipeline has external state and `policy`
  /// is `Fail`.
  [[nodiscard]] TRAINHOOK_DECL Tensor save_state(ExternalStatePolicy policy = ExternalStatePolicy::Fail);

  /// Restores a saved position. After an error the position is unchanged.
  TRAINHOOK_DECL void restore_state(const Tensor& state);

  /// Checks that `restore_state` would succeed, and changes nothing.
  TRAINHOOK_DECL void verify_state(const Tensor& state) const;

  [[nodiscard]] std::vector<std::string> external_state() const { return dataset_.external_state(); }

 private:
  struct Position;

  Dataset dataset_;
  std::unique_ptr<Position> position_;
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/data/impl/iterator.ipp>
#endif
