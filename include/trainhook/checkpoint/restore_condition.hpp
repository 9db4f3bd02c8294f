// SPDX-License-Identifier: Apache-2.0
/// @file
/// RestoreCondition: lets a hook say which checkpoints the model must not be restored from.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace trainhook {

/// The collection that holds RestoreConditions.
inline constexpr std::string_view kRestoreConditions = "restore_conditions";

/// Asked for each candidate, newest first: for example, whether the input pipeline's position of that step is
/// undamaged.
struct RestoreCondition {
  /// Why the checkpoint called `prefix` must be skipped, or nothing. What it throws, other than DataLossError, ends the
  /// restore: nothing is skipped because of a file that merely cannot be read.
  std::function<std::optional<std::string>(const std::string& prefix)> why_not{};

  /// True for a checkpoint beside the model's that is not one of a model, and so not a candidate. May be empty.
  std::function<bool(const std::string& prefix)> is_other{};
};

}  // namespace trainhook
