// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/data/iterator.hpp>

#include <mutex>
#include <string_view>
#include <utility>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/process_mark.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/data/dataset_iterator.hpp>

namespace trainhook {

struct Iterator::Position {
  std::mutex mutex;
  DatasetIterator iterator;
  detail::ProcessMark process{};

  /// A forked child has its own position, unless a thread of the parent held the lock at the fork.
  [[nodiscard]] std::unique_lock<std::mutex> lock() {
    std::unique_lock taken(mutex, std::try_to_lock);
    if (taken) return taken;
    process.expect_here("the position of this iterator");
    taken.lock();
    return taken;
  }
};

Iterator::Iterator(Dataset dataset)
    : dataset_(std::move(dataset)), position_(new Position{{}, dataset_.make_iterator()}) {}

Iterator::~Iterator() = default;

void Iterator::get_next(Element& element) {
  if (!try_get_next(element)) throw OutOfRangeError("End of sequence");
}

bool Iterator::try_get_next(Element& element) {
  const std::unique_lock lock = position_->lock();
  return position_->iterator.next(element);
}

void Iterator::initialize() {
  DatasetIterator fresh = dataset_.make_iterator();
  const std::unique_lock lock = position_->lock();
  std::swap(position_->iterator, fresh);
}

void Iterator::verify_state(const Tensor& state) const { Iterator(dataset_).restore_state(state); }

Tensor Iterator::save_state(ExternalStatePolicy policy) {
  const std::unique_lock lock = position_->lock();
  return Tensor(std::string_view(position_->iterator.save(policy)));
}

void Iterator::restore_state(const Tensor& state) {
  if (state.dtype() != DType::String || state.shape().rank() != 0) {
    throw InvalidArgumentError("the saved state of an iterator is a string scalar, not {}{}", state.dtype(),
                               state.shape());
  }
  const std::string& bytes = state.data<std::string>()[0];
  const std::unique_lock lock = position_->lock();
  position_->iterator.restore(bytes);
}

}  // namespace trainhook
