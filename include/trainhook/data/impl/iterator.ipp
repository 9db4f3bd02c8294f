// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of iterator.hpp.
#pragma once

#include <trainhook/data/iterator.hpp>

#include <string_view>
#include <utility>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/shape.hpp>

namespace trainhook {

TRAINHOOK_DECL Iterator::Iterator(Dataset dataset)
    : dataset_(std::move(dataset)), position_(dataset_.make_iterator()) {}

TRAINHOOK_DECL void Iterator::get_next(Element& element) {
  if (!try_get_next(element)) throw OutOfRangeError("End of sequence");
}

TRAINHOOK_DECL bool Iterator::try_get_next(Element& element) {
  const std::scoped_lock lock(mutex_);
  return position_.next(element);
}

TRAINHOOK_DECL void Iterator::initialize() {
  DatasetIterator fresh = dataset_.make_iterator();
  const std::scoped_lock lock(mutex_);
  std::swap(position_, fresh);
}

TRAINHOOK_DECL Tensor Iterator::save_state(ExternalStatePolicy policy) {
  const std::scoped_lock lock(mutex_);
  return Tensor(std::string_view(position_.save(policy)));
}

TRAINHOOK_DECL void Iterator::restore_state(const Tensor& state) {
  if (state.dtype() != DType::String || state.shape().rank() != 0) {
    throw InvalidArgumentError("the saved state of an iterator is a string scalar, not {}", state);
  }
  const std::string& bytes = state.data<std::string>()[0];
  const std::scoped_lock lock(mutex_);
  position_.restore(bytes);
}

}  // namespace trainhook
