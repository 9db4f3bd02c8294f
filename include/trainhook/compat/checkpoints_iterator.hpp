// SPDX-License-Identifier: Apache-2.0
/// @file
/// wait_for_new_checkpoint and CheckpointsIterator, for a process that evaluates what another one trains.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <iterator>
#include <optional>
#include <string>

#include <trainhook/core/duration.hpp>
#include <trainhook/core/linkage.hpp>

namespace trainhook {

class Clock;
class FileSystem;

struct WaitForCheckpointOptions {
  Duration seconds_to_sleep = std::chrono::seconds(1);  ///< time between two checks
  OptionalDuration timeout{};                           ///< none: waits indefinitely
  FileSystem* file_system = nullptr;                    ///< null: the default
  Clock* clock = nullptr;                               ///< null: the default
};

/// Waits until the newest checkpoint of a directory differs from `last_checkpoint` (empty: any) and returns its prefix,
/// or nothing after the timeout. The directory need not exist yet. Source: TensorFlow's `wait_for_new_checkpoint`.
[[nodiscard]] TRAINHOOK_DECL std::optional<std::string> wait_for_new_checkpoint(
    const std::string& checkpoint_dir, const std::string& last_checkpoint = {},
    const WaitForCheckpointOptions& options = {});

/// The checkpoints of a directory as they appear: `for (const std::string& prefix : CheckpointsIterator("run"))
/// evaluate(prefix);`. It checks only when the next one is requested, so it may skip some; with a timeout of 0 it
/// returns the newest and ends. A single-pass range. Source: TensorFlow's `checkpoints_iterator`.
class CheckpointsIterator {
 public:
  struct Options {
    Duration min_interval_secs = Duration::zero();  ///< least time from one checkpoint to the next
    OptionalDuration timeout{};                     ///< how long to wait for the next one; none: indefinitely
    std::function<bool()> timeout_fn{};             ///< called after the timeout: false continues to wait
    FileSystem* file_system = nullptr;              ///< null: the default
    Clock* clock = nullptr;                         ///< null: the default
  };

  explicit CheckpointsIterator(std::string checkpoint_dir)
      : CheckpointsIterator(std::move(checkpoint_dir), Options()) {}
  TRAINHOOK_DECL CheckpointsIterator(std::string checkpoint_dir, Options options);

  /// The next prefix, or nothing after the timeout.
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
  std::string checkpoint_dir_;
  Options options_;
  std::string last_;
  std::optional<Duration> given_at_;
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/compat/impl/checkpoints_iterator.ipp>
#endif
