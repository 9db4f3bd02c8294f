// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/compat/checkpoints_iterator.hpp>

#include <utility>

#include <trainhook/checkpoint/checkpoint_state.hpp>
#include <trainhook/core/clock.hpp>
#include <trainhook/io/path.hpp>
#include <trainhook/io/posix_file_system.hpp>

namespace trainhook {

std::optional<std::string> wait_for_new_checkpoint(const std::string& checkpoint_dir,
                                                   const std::string& last_checkpoint,
                                                   const WaitForCheckpointOptions& options) {
  FileSystem& disk = detail::given_or_posix(options.file_system);
  Clock& clock = detail::given_or_system(options.clock);
  const Duration end = options.timeout ? clock.monotonic_now() + *options.timeout : (Duration::max)();
  for (;;) {
    const bool is_there = disk.exists(join_path(checkpoint_dir, kLatestFilename));
    if (auto newest = is_there ? latest_checkpoint(disk, checkpoint_dir) : std::nullopt;
        newest && *newest != last_checkpoint)
      return newest;
    const Duration next_look = clock.monotonic_now() + options.seconds_to_sleep;
    if (next_look > end) return std::nullopt;
    detail::sleep_until(clock, next_look);
  }
}

CheckpointsIterator::CheckpointsIterator(std::string checkpoint_dir, Options options)
    : checkpoint_dir_(std::move(checkpoint_dir)), options_(std::move(options)) {
  options_.file_system = &detail::given_or_posix(options_.file_system);
  options_.clock = &detail::given_or_system(options_.clock);
}

std::optional<std::string> CheckpointsIterator::next() {
  if (given_at_) detail::sleep_until(*options_.clock, *given_at_ + options_.min_interval_secs);
  for (;;) {
    auto newest = wait_for_new_checkpoint(
        checkpoint_dir_, last_,
        {.timeout = options_.timeout, .file_system = options_.file_system, .clock = options_.clock});
    if (newest) {
      last_ = *newest;
      given_at_ = options_.clock->monotonic_now();
      return newest;
    }
    if (!options_.timeout_fn || options_.timeout_fn()) return std::nullopt;
  }
}

}  // namespace trainhook
