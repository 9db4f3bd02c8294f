// SPDX-License-Identifier: Apache-2.0
/// @file
/// BackgroundInput: the input of a stage that reads ahead on threads of its own.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include <trainhook/core/linkage.hpp>
#include <trainhook/data/dataset_node.hpp>
#include <trainhook/data/element.hpp>
#include <trainhook/data/iterator_state.hpp>

namespace trainhook::detail {

/// An input that threads read, one at a time, while another thread may save it. A save never waits for the source,
/// which may be slow or may wait for the training: during a read, it saves the position before that read. A long
/// position, such as a shuffle buffer with its contents, is not taken before each read. Instead the elements read since
/// are counted, and a restored input reads them again and drops them.
///
/// The stage's mutex guards all members.
class BackgroundInput {
 public:
  enum class Outcome {
    Element,
    Dropped,  ///< an element that a restored input had delivered before it was saved
    End
  };

  /// @param is_saved false if `save` is never called
  BackgroundInput(std::unique_ptr<ElementStream> stream, bool is_saved) noexcept
      : stream_(std::move(stream)), is_saved_(is_saved) {}

  /// Whether a thread is in `next`.
  [[nodiscard]] bool is_reading() const noexcept { return is_reading_; }

  /// Reads one element and releases `lock` meanwhile. Call it only if no other thread reads.
  TRAINHOOK_DECL Outcome next(std::unique_lock<std::mutex>& lock, Element& element);

  TRAINHOOK_DECL void save(StateWriter& writer) const;

  /// Call it only before the first `next`.
  TRAINHOOK_DECL void restore(StateReader& reader);

 private:
  TRAINHOOK_DECL void take_position() noexcept;

  std::unique_ptr<ElementStream> stream_;
  bool is_saved_;
  std::uint64_t to_replay_ = 0;  // elements to read again and drop
  bool is_reading_ = false;
  std::optional<StateWriter> position_;  // of the stream, before one of the last reads
  std::exception_ptr position_failure_;  // why `position_` is empty
  std::uint64_t replay_position_ = 0;    // elements between `position_` and the next one to deliver
  std::uint64_t bytes_since_ = 0;        // that were read after `position_`
  bool needs_position_ = false;          // the next read takes a position in any case
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/data/impl/background_input.ipp>
#endif
