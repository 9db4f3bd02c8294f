// SPDX-License-Identifier: Apache-2.0
/// @file
/// Save: a checkpoint on its way to the disk. BackgroundWriter: a thread that commits them, one after the other.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include <trainhook/checkpoint/saver.hpp>
#include <trainhook/core/duration.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/process_mark.hpp>
#include <trainhook/core/thread.hpp>

namespace trainhook::detail {

/// The state of one step, taken to be saved. `commit` may run on any thread; afterwards the save has the result.
class Save {
 public:
  /// Writes the checkpoint and returns its prefix.
  using Write = std::function<std::string(SaveCost& cost)>;

  Save(std::int64_t step, Write write) : step_(step), write_(std::move(write)) {}

  /// Writes the checkpoint, or keeps the error, and releases the state. Call it once.
  void commit(bool loop_waits) noexcept {
    try {
      prefix_ = write_(cost_);
    } catch (...) { error_ = std::current_exception(); }
    write_ = nullptr;
    cost_.blocked = Duration(taken_ + (loop_waits ? cost_.blocked : Duration()));
  }

  /// How long the loop waited until the state was taken.
  void set_taken(Duration time) noexcept { taken_ = time; }

  [[nodiscard]] std::int64_t step() const noexcept { return step_; }

  /// Of the committed checkpoint.
  [[nodiscard]] const std::string& prefix() const noexcept { return prefix_; }

  [[nodiscard]] const SaveCost& cost() const noexcept { return cost_; }

  /// How long it took, without the time for which it waited for another one.
  [[nodiscard]] Duration took() const noexcept { return Duration(taken_ + cost_.written + cost_.synced); }

  /// Why it could not be committed; null if it was.
  [[nodiscard]] const std::exception_ptr& error() const noexcept { return error_; }

 private:
  std::int64_t step_;
  Write write_;
  Duration taken_;
  std::string prefix_;
  SaveCost cost_;
  std::exception_ptr error_;
};

/// Runs one save at a time on a background thread; one more may wait. Call all members on one thread, and in the
/// process that made it.
class BackgroundWriter {
 public:
  BackgroundWriter() = default;
  BackgroundWriter(const BackgroundWriter&) = delete;
  BackgroundWriter& operator=(const BackgroundWriter&) = delete;

  /// Waits for the submitted saves, but not in a forked child. Those that were not taken are lost.
  TRAINHOOK_DECL ~BackgroundWriter();

  /// True while a save is being written or is waiting.
  [[nodiscard]] TRAINHOOK_DECL bool is_busy();

  /// Starts the thread unless it runs. False if there can be none, which a log line says once.
  [[nodiscard]] TRAINHOOK_DECL bool has_thread();

  /// Submits a save of a snapshot. If another one is waiting, replaces it and returns it. If there can be no thread,
  /// the save is committed before this returns.
  TRAINHOOK_DECL std::optional<Save> submit(Save save);

  /// Commits at once, also what is no snapshot.
  TRAINHOOK_DECL void commit_in_place(Save save);

  /// True if `take_finished` has something to return. Takes no lock.
  [[nodiscard]] bool has_finished() const noexcept { return finished_ready_.load(std::memory_order_acquire) > 0; }

  /// Takes the oldest save that was committed or failed, if there is one.
  [[nodiscard]] TRAINHOOK_DECL std::optional<Save> take_finished();

  /// Waits until all submitted saves are done.
  TRAINHOOK_DECL void wait();

 private:
  TRAINHOOK_DECL void work() noexcept;
  TRAINHOOK_DECL void add(Save finished);
  void expect_here() const { process_.expect_here("this background save"); }

  std::mutex mutex_;
  WaitCondition changed_;
  std::optional<Save> waiting_;
  std::deque<Save> finished_;
  std::atomic<int> finished_ready_ = 0;
  bool writing_ = false;
  bool closing_ = false;
  bool has_said_ = false;  // that there is no thread
  Thread thread_;
  ProcessMark process_;
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/hooks/saving/impl/background_writer.ipp>
#endif
