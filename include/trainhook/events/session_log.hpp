// SPDX-License-Identifier: Apache-2.0
/// @file
/// SessionLog: markers in event files, by which TensorBoard drops events that a crash left behind.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace trainhook {

/// Marks the start or end of training, or a checkpoint. At every Start after a run's first, TensorBoard drops earlier
/// events of that step and later ones, because a crash left them behind. So after restoring step R, write a Start at
/// step R + 1.
struct SessionLog {
  /// The numbers are in files: never renumber.
  enum class Status : std::int32_t { Unspecified = 0, Start = 1, Stop = 2, Checkpoint = 3 };
  using enum Status;

  Status status = Status::Unspecified;
  std::string checkpoint_path{};  ///< with its `-<step>`; TensorFlow's hook leaves that out
  std::string msg{};

  friend bool operator==(const SessionLog&, const SessionLog&) = default;
};

namespace detail {

/// The version that the first event of every file declares. TensorBoard uses SessionLog from version 2 on.
inline constexpr std::string_view kEventFileVersion = "brain.Event:2";

}  // namespace detail
}  // namespace trainhook
