// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/ranks/rank_contents.hpp>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>

#include <trainhook/checkpoint/bundle/tensor_slice.hpp>
#include <trainhook/core/dtype.hpp>
#include <trainhook/core/saveable.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/variable.hpp>
#include <trainhook/ranks/rank_state.hpp>

namespace trainhook::detail {

inline bool is_at_or_below(std::string_view name, std::string_view group) {
  return name.starts_with(group) && (name.size() == group.size() || name[group.size()] == '/');
}

RankContents::RankContents(std::unique_ptr<CheckpointContents> original, RankView& view)
    : original_(std::move(original)), view_(view), slices_(view.session.graph()) {
  std::set<std::string, std::less<>> state;
  for (const StateSpec& spec : view.session.state()) {
    state.insert(spec.name);
    if (spec.kind == StateKind::Variable && spec.dtype != DType::String && !slices_.is_own(spec.name))
      of_chief_.insert(spec.name);
  }
  const std::string own = rank_prefix(view.rank);
  const std::vector<std::string> own_names = original_->names(own);
  for (const std::string& name : own_names) originals_.emplace(name.substr(own.size()), name);
  std::vector<std::string> own_saveables;
  for (const auto& saveable :
       view.session.graph().collection<std::shared_ptr<Saveable>>(graph_keys::kSaveableObjects)) {
    const std::string name = saveable->name();
    if (std::ranges::any_of(own_names, [&](const auto& each) { return is_at_or_below(each, own + name); }))
      own_saveables.push_back(name);
  }
  const std::string part = fmt::format("/{}", kPartOfTensor);  // those of all ranks are for each
  for (std::string& name : original_->names({})) {
    const auto has_it = [&](const std::string& saveable) { return is_at_or_below(name, saveable); };
    const bool may_be_replaced = name.find(part) == std::string::npos && !state.contains(name);
    if (may_be_replaced && std::ranges::any_of(own_saveables, has_it)) {
      hidden_.insert(name);
    } else if (!name.starts_with(own)) {
      originals_.emplace(name, name);
    }
  }
}

std::string_view RankContents::original_name(std::string_view name) const {
  const auto found = originals_.find(name);
  return found == originals_.end() ? name : found->second;
}

std::optional<CheckpointContents::Entry> RankContents::find(std::string_view name) const {
  if (hidden_.contains(name) && !originals_.contains(name)) return std::nullopt;
  return original_->find(original_name(name));
}

Tensor RankContents::read(std::string_view name) const { return original_->read(original_name(name)); }

Tensor RankContents::read(std::string_view name, const TensorSlice& region) const {
  return original_->read(original_name(name), region);
}

void RankContents::read_into(std::string_view name, const TensorSlice& region, std::span<std::byte> to) const {
  const auto is_own = [&](const std::string& part) {
    return slices_.find(part)->full_name == name && region_of(*slices_.find(part)) == region;
  };
  if (to.empty() && view_.is_verified && std::ranges::any_of(slices_.own(), is_own)) return;
  original_->read_into(original_name(name), region, to);
}

std::vector<std::string> RankContents::names(std::string_view beginning) const {
  std::vector<std::string> names;
  for (auto each = originals_.lower_bound(beginning); each != originals_.end() && each->first.starts_with(beginning);
       ++each)
    names.push_back(each->first);
  return names;
}

bool RankContents::keeps_initial(std::string_view name) const {
  if (of_chief_.contains(name)) return true;
  if (!view_.keeps || !view_.keeps(std::string(name))) return false;
  if (std::ranges::find(view_.kept, name) == view_.kept.end()) view_.kept.emplace_back(name);
  return true;
}

void RankContents::refuse(std::string_view variable) const {
  original_->refuse(variable);
  std::abort();  // which g++ cannot know of a virtual function
}

}  // namespace trainhook::detail
