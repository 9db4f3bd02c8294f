// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/compat/ops.hpp>

#include <algorithm>
#include <vector>

#include <trainhook/model/ops/registry.hpp>

namespace trainhook::compat {

std::span<const detail::OpFamily> ops() {
  using namespace detail;
  static const auto* const families = [] {
    auto* const all =
        new std::vector<OpFamily>{branch_ops(),    einsum_ops(),          local_response_ops(), partition_ops(),
                                  rearrange_ops(), sparse_training_ops(), truncation_ops()};
    all->insert(all->end(), model::ops().begin(), model::ops().end());
    return all;
  }();
  return *families;
}

}  // namespace trainhook::compat

namespace trainhook {

const OpDef* find_op_def(std::string_view type, std::span<const OpDef> extra) {
  const auto own = std::ranges::find(extra, type, &OpDef::type);
  if (own != extra.end()) return &*own;
  for (const detail::OpFamily family : compat::ops()) {
    const auto found = std::ranges::find(family, type, &OpDef::type);
    if (found != family.end()) return *found;
  }
  return nullptr;
}

}  // namespace trainhook
