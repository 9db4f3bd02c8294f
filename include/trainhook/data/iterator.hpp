// SPDX-License-Identifier: Apache-2.0
/// @file
/// Iterator: a live iterator that several threads may share, with its state as a tensor.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <trainhook/data/dataset.hpp>

namespace trainhook {

/// What a session holds for an `IteratorV2` node. Every member may be called from several threads at once; each element goes to one of
/// them.
class Iterator {
 public:
  explicit Iterator(Dataset dataset) : dataset_(std::move(dataset)), position_(dataset_.make_iterator()) {}

  [[nodiscard]] const Dataset& dataset() const noexcept { return dataset_; }
  [[nodiscard]] const ElementSpec& element_spec() const noexcept { return dataset_.element_spec(); }

  /// The next element. Hand in the same `element` again and its memory is used again. @throws OutOfRangeError at the end.
  void get_next(Element& element) {
    if (!try_get_next(element)) throw OutOfRangeError("End of sequence");
  }
  /// The same, with false at the end.
  [[nodiscard]] bool try_get_next(Element& element) {
    const std::scoped_lock lock(mutex_);
    return position_.next(element);
  }

  /// Back to the beginning.
  void initialize() {
    DatasetIterator fresh = dataset_.make_iterator();
    const std::scoped_lock lock(mutex_);
    std::swap(position_, fresh);
  }

  /// The position as a string scalar, captured on this thread. @throws FailedPreconditionError as `policy` has it.
  [[nodiscard]] Tensor save_state(ExternalStatePolicy policy = ExternalStatePolicy::Fail) {
    const std::scoped_lock lock(mutex_);
    return Tensor(std::string_view(position_.save(policy)));
  }

  /// Goes where `state` was saved. After an error the iterator is where it was, and goes on from there.
  void restore_state(const Tensor& state) {
    if (state.dtype() != DType::String || state.shape().rank() != 0) {
      throw InvalidArgumentError("the saved state of an iterator is a string scalar, not ", state);
    }
    const std::string& bytes = state.data<std::string>()[0];
    const std::scoped_lock lock(mutex_);
    position_.restore(bytes);
  }

  /// Checks that `restore_state` would succeed, and changes nothing.
  void verify_state(const Tensor& state) const { Iterator(dataset_).restore_state(state); }

  [[nodiscard]] std::vector<std::string> external_state() const { return dataset_.external_state(); }

 private:
  Dataset dataset_;
  std::mutex mutex_;
  DatasetIterator position_;
};

}  // namespace trainhook
