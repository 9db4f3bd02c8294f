// SPDX-License-Identifier: Apache-2.0
/// @file
/// Renames: what replaces the beginnings of names. A name has parts, which '/' and '.' separate.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <trainhook/core/function_ref.hpp>
#include <trainhook/core/linkage.hpp>

namespace trainhook::detail {

/// Pairs of a beginning of names, which ends with a part of the name or is empty, and what replaces it.
using Renames = std::vector<std::pair<std::string, std::string>>;

/// Where `parts` stand in a name, at `from` or behind it: from the beginning of a part to the end of one. npos:
/// nowhere.
[[nodiscard]] TRAINHOOK_DECL std::size_t find_parts(std::string_view name, std::string_view parts, std::size_t from);

/// The first pair that fits a name; `end()` if none does.
[[nodiscard]] TRAINHOOK_DECL Renames::const_iterator find_rename(const Renames& renames, std::string_view name);

/// The name with what replaces its beginning.
[[nodiscard]] TRAINHOOK_DECL std::string renamed(std::string_view name, const Renames& renames);

/// Gives the model's names for the names of a checkpoint. The arguments must outlive it.
class Renaming {
 public:
  /// @param was_followed the checkpoint is of this model, so a name that the model has is not replaced by one that it
  /// lacks
  Renaming(const Renames& renames, FunctionRef<bool(const std::string& name)> in_model, bool was_followed)
      : renames_(renames), in_model_(in_model), was_followed_(was_followed), used_(renames.size()) {}

  /// By what it begins with, or, if the model lacks it and has the other name, by what is inside. Empty: it is left
  /// out. @throws InvalidArgumentError if the model has two such names.
  [[nodiscard]] TRAINHOOK_DECL std::string name_here(const std::string& name);

  /// The name keeps its beginning after all.
  TRAINHOOK_DECL void take_back(const std::string& name);

  /// How many names each pair was about.
  [[nodiscard]] const std::vector<std::size_t>& used() const noexcept { return used_; }

 private:
  const Renames& renames_;
  FunctionRef<bool(const std::string& name)> in_model_;
  bool was_followed_;
  std::vector<std::size_t> used_;
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/checkpoint/impl/rename.ipp>
#endif
