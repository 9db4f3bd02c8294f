// SPDX-License-Identifier: Apache-2.0
/// @file
/// DatasetIterator: one pass over a dataset, for a single thread, that can be saved and restored.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <trainhook/core/linkage.hpp>
#include <trainhook/data/element.hpp>
#include <trainhook/graph/saved_input.hpp>

namespace trainhook {

namespace detail {

class DatasetNode;
using NodePtr = std::shared_ptr<const DatasetNode>;
template <class Item>
class Stream;

}  // namespace detail

/// Iterates over the elements of a dataset. Its state is the position after the last consumed element, everything that
/// stages have buffered, including errors, and the names and sizes of the files that sources read. If an iterator over
/// an equal dataset restores it, even in another process, it continues with the next element. Not thread-safe.
class DatasetIterator {
 public:
  TRAINHOOK_DECL explicit DatasetIterator(detail::NodePtr node);
  TRAINHOOK_DECL DatasetIterator(DatasetIterator&&) noexcept;
  TRAINHOOK_DECL DatasetIterator& operator=(DatasetIterator&&) noexcept;
  TRAINHOOK_DECL ~DatasetIterator();

  /// Fetches the next element; false at the end. Passing the same `element` again reuses its memory. After an error,
  /// the next call skips the element that failed.
  [[nodiscard]] TRAINHOOK_DECL bool next(Element& element);

  /// Skips up to `count` elements, without computing them if the stages allow it. Returns the number skipped.
  TRAINHOOK_DECL std::int64_t skip(std::int64_t count);

  /// Returns the state as bytes. Does not wait for threads that read ahead. The bytes depend on how much those have
  /// ready; the elements after a restore do not. @throws FailedPreconditionError, naming the stages, if some stages
  /// have state that cannot be saved and `policy` is `Fail`.
  [[nodiscard]] TRAINHOOK_DECL std::string save(ExternalStatePolicy policy = ExternalStatePolicy::Fail);

  /// Restores a saved position. After an error the position is unchanged.
  /// @throws DataLossError for damaged bytes, InvalidArgumentError, naming what differs, for the state of another
  /// pipeline, or of other files without `Dataset::allow_changed_sources`.
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
