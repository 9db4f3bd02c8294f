// SPDX-License-Identifier: Apache-2.0
/// @file
/// wait_for_new_checkpoint and checkpoints_iterator: for a process that evaluates what another one trains.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <iterator>
#include <optional>
#include <string>

#include <trainhook/core/clock.hpp>
#include <trainhook/core/linkage.hpp>

namespace trainhook {

class FileSystem;

struct WaitForCheckpointOptions {
  Duration seconds_to_sleep = std::chrono::seconds(1);  ///< between two looks
  OptionalDuration timeout{};                           ///< without one it waits for ever
  FileSystem* file_system = nullptr;                    ///< null: the machine's own
  Clock* clock = nullptr;                               ///< null: the machine's own
};

/// Waits until the newest checkpoint of a directory is another one than `last_checkpoint` (empty: any), and returns its
/// prefix; nothing if the time is over first. The directory need not exist yet. Source: TensorFlow's
/// `wait_for_new_checkpoint`.
[[nodiscard]] TRAINHOOK_DECL std::optional<std::string> wait_for_new_checkpoint(
    const std::string& checkpoint_dir, const std::string& last_checkpoint = {},
    const WaitForCheckpointOptions& options = {});

struct CheckpointsIteratorOptions {
  Duration min_interval_secs = Duration::zero();  ///< from one checkpoint to the next, at least
  OptionalDuration timeout{};                     ///< how long to wait for the next one; without one, for ever
  std::function<bool()> timeout_fn{};             ///< called when that is over: false waits on
  FileSystem* file_system = nullptr;              ///< null: the machine's own
  Clock* clock = nullptr;                         ///< null: the machine's own
};

/// The checkpoints of a directory as they appear: `for (const std::string& prefix : CheckpointsIterator("run"))
/// evaluate(prefix);`. It looks only when it is asked for the next one, so it may skip some; with a timeout of 0 it
/// gives the newest and ends. A range that can be read once. Source: TensorFlow's `checkpoints_iterator`.
class CheckpointsIterator {
 public:
  TRAINHOOK_DECL explicit CheckpointsIterator(std::string checkpoint_dir, CheckpointsIteratorOptions options = {});

  /// The next prefix, or nothing if the time is over.
  [[nodiscard]] TRAINHOOK_DECL std::optional<std::string> next();

  class Iterator {
   public:
    using value_type = std::string;
    using difference_type = std::ptrdiff_t;

    explicit Iterator(CheckpointsIterator& from) : from_(&from), now_(from.next()) {}
    const std::string& operator*() const noexcept { return *now_; }
    Iterator& operator++() {
      now_ = from_->next();
      return *this;
    }
    void operator++(int) { ++*this; }
    friend bool operator==(const Iterator& it, std::default_sentinel_t) noexcept { return !it.now_; }

   private:
    CheckpointsIterator* from_;
    std::optional<std::string> now_;
  };
  [[nodiscard]] Iterator begin() { return Iterator(*this); }
  [[nodiscard]] static std::default_sentinel_t end() noexcept { return {}; }

 private:
  [[nodiscard]] TRAINHOOK_DECL Clock& clock() const;

  std::string checkpoint_dir_;
  CheckpointsIteratorOptions options_;
  std::string last_;
  std::optional<Duration> given_at_;
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/checkpoint/impl/checkpoints_iterator.ipp>
#endif
