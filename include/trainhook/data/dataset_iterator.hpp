// SPDX-License-Identifier: Apache-2.0
/// @file
/// One run over a dataset, for one thread at a time: next element, save, restore.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <trainhook/core/linkage.hpp>
#include <trainhook/data/element.hpp>
#include <trainhook/data/external_state_policy.hpp>

namespace trainhook {

namespace detail {

class DatasetNode;
using NodePtr = std::shared_ptr<const DatasetNode>;
template <class Item>
class Stream;

}  // namespace detail

/// Walks over the elements of a dataset. Its state is its position after the elements that were consumed, with
/// what stages have buffered. Restored into an iterator over an equal dataset, even in another process, it continues
/// with the next element.
class DatasetIterator {
 public:
  TRAINHOOK_DECL explicit DatasetIterator(detail::NodePtr node);
  TRAINHOOK_DECL DatasetIterator(DatasetIterator&&) noexcept;
  TRAINHOOK_DECL DatasetIterator& operator=(DatasetIterator&&) noexcept;
  TRAINHOOK_DECL ~DatasetIterator();

  /// Fetches the next element; false at the end. Pass the same `element` again, and its memory is reused.
  /// After an error the element that failed is skipped.
  [[nodiscard]] TRAINHOOK_DECL bool next(Element& element);

  /// Skips up to `count` elements, without computing them if the stages allow it. Returns how many there were.
  TRAINHOOK_DECL std::int64_t skip(std::int64_t count);

  /// The state as bytes. @throws FailedPreconditionError naming each stage whose state is outside, unless `policy`
  /// allows it.
  [[nodiscard]] TRAINHOOK_DECL std::string save(ExternalStatePolicy policy = ExternalStatePolicy::Fail);

  /// Restores a saved position. After an error the position is unchanged.
  /// @throws DataLossError for damaged bytes, InvalidArgumentError for the state of another pipeline, naming the stage
  /// that differs.
  TRAINHOOK_DECL void restore(std::string_view state);

 private:
  detail::NodePtr node_;
  std::uint64_t entropy_ = 0;
  std::unique_ptr<detail::Stream<Element>> stream_;
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/data/impl/dataset_iterator.ipp>
#endif
