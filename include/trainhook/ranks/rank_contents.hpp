// SPDX-License-Identifier: Apache-2.0
/// @file
/// RankContents: a checkpoint of a job as a rank other than the chief restores it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <trainhook/checkpoint/checkpoint_source.hpp>
#include <trainhook/checkpoint/variable_slices.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/session/session_ref.hpp>

namespace trainhook::detail {

/// How a rank looks at a checkpoint.
struct RankView {
  int rank = 0;
  SessionRef session{};
  std::function<bool(const std::string& name)> keeps{};  ///< the state that keeps its value instead of the chief's
  bool is_verified = false;                              ///< the rank's parts of tensors were read before
  std::vector<std::string> kept{};                       ///< gets the names for which `keeps` was true
};

/// Shows what the rank has of its own in place of the chief's, under the same names: each piece of state, or all of a
/// saveable. The session keeps its variables, which come from the chief, but strings and the rank's parts of tensors.
class RankContents final : public CheckpointContents {
 public:
  /// @param view must outlive this
  TRAINHOOK_DECL RankContents(std::unique_ptr<CheckpointContents> original, RankView& view);

  [[nodiscard]] const std::string& path() const noexcept override { return original_->path(); }
  [[nodiscard]] TRAINHOOK_DECL std::optional<Entry> find(std::string_view name) const override;
  [[nodiscard]] TRAINHOOK_DECL Tensor read(std::string_view name) const override;
  [[nodiscard]] TRAINHOOK_DECL Tensor read(std::string_view name, const TensorSlice& region) const override;
  TRAINHOOK_DECL void read_into(std::string_view name, const TensorSlice& region,
                                std::span<std::byte> to) const override;
  [[nodiscard]] TRAINHOOK_DECL std::vector<std::string> names(std::string_view beginning) const override;
  [[nodiscard]] TRAINHOOK_DECL bool keeps_initial(std::string_view name) const override;
  [[nodiscard]] bool is_partial() const noexcept override { return true; }
  [[noreturn]] TRAINHOOK_DECL void refuse(std::string_view variable) const override;

 private:
  [[nodiscard]] TRAINHOOK_DECL std::string_view original_name(std::string_view name) const;

  std::unique_ptr<CheckpointContents> original_;
  RankView& view_;
  VariableSlices slices_;
  std::map<std::string, std::string, std::less<>> originals_;  // the names there, by those shown
  std::set<std::string, std::less<>> hidden_;                  // the chief's, of saveables that the rank replaces
  std::set<std::string, std::less<>> of_chief_;                // the variables that come from the chief
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/ranks/impl/rank_contents.ipp>
#endif
