// SPDX-License-Identifier: Apache-2.0
/// @file
/// RestoreCondition: lets a hook exclude checkpoints from which the model must not be restored.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <trainhook/graph/graph.hpp>

namespace trainhook::detail {

/// The collection that holds weak pointers to RestoreConditions.
inline constexpr std::string_view kRestoreConditions = "restore_conditions";

/// Checks each candidate, newest first, for example whether the input pipeline's position of that step is undamaged.
struct RestoreCondition {
  /// Returns why the checkpoint `prefix` must be skipped, or nothing. An error other than DataLossError ends the
  /// restore, so that no checkpoint is skipped because of a file that only could not be read.
  std::function<std::optional<std::string>(const std::string& prefix)> why_not{};

  /// Returns true for checkpoints in the directory that are not of a model, and so are no candidates. May be empty.
  std::function<bool(const std::string& prefix)> is_other{};
};

/// The current conditions, oldest first.
[[nodiscard]] inline std::vector<std::shared_ptr<const RestoreCondition>> restore_conditions(const Graph& graph) {
  std::vector<std::shared_ptr<const RestoreCondition>> conditions;
  for (const auto& entry : graph.collection<std::weak_ptr<const RestoreCondition>>(kRestoreConditions)) {
    if (auto condition = entry.lock()) conditions.push_back(std::move(condition));
  }
  return conditions;
}

}  // namespace trainhook::detail
