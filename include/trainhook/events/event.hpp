// SPDX-License-Identifier: Apache-2.0
/// @file
/// SessionLog: the marks in event files by which TensorBoard tells a restart from an orphan of a crash.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace trainhook {

/// Marks the start of a training, its end, or a checkpoint. When TensorBoard finds a Start that is not the first of a
/// run, it drops the events at that step and later: a crash left them behind. So after restoring step R, write a Start
/// at step R + 1.
struct SessionLog {
  /// The numbers are in files: never renumber.
  enum class Status : std::int32_t { Unspecified = 0, Start = 1, Stop = 2, Checkpoint = 3 };
  using enum Status;

  Status status = Status::Unspecified;
  std::string checkpoint_path{};  ///< as given to the saver, without `-<step>`
  std::string msg{};

  friend bool operator==(const SessionLog&, const SessionLog&) = default;
};

/// The version that the first event of every file declares. TensorBoard heeds SessionLog from version 2 on.
inline constexpr std::string_view kEventFileVersion = "brain.Event:2";

}  // namespace trainhook
