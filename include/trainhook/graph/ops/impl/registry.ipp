// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of registry.hpp.
#pragma once

#include <trainhook/graph/ops/registry.hpp>

#include <algorithm>
#include <array>

#include <trainhook/graph/ops/all_reduce.hpp>
#include <trainhook/graph/ops/array.hpp>
#include <trainhook/graph/ops/batch_matmul.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/ops/control_flow.hpp>
#include <trainhook/graph/ops/conv.hpp>
#include <trainhook/graph/ops/einsum.hpp>
#include <trainhook/graph/ops/indexing.hpp>
#include <trainhook/graph/ops/iterator.hpp>
#include <trainhook/graph/ops/join.hpp>
#include <trainhook/graph/ops/math.hpp>
#include <trainhook/graph/ops/matrix.hpp>
#include <trainhook/graph/ops/nn.hpp>
#include <trainhook/graph/ops/normalization.hpp>
#include <trainhook/graph/ops/partition.hpp>
#include <trainhook/graph/ops/queue.hpp>
#include <trainhook/graph/ops/random.hpp>
#include <trainhook/graph/ops/rearrange.hpp>
#include <trainhook/graph/ops/resize.hpp>
#include <trainhook/graph/ops/restore.hpp>
#include <trainhook/graph/ops/slice.hpp>
#include <trainhook/graph/ops/special.hpp>
#include <trainhook/graph/ops/split.hpp>
#include <trainhook/graph/ops/state.hpp>
#include <trainhook/graph/ops/strided_slice.hpp>
#include <trainhook/graph/ops/summary.hpp>
#include <trainhook/graph/ops/training.hpp>

namespace trainhook::detail {

std::span<const OpFamily> op_families() noexcept {
  static const std::array families{
      einsum_ops(),        partition_ops(),    rearrange_ops(),     all_reduce_ops(),
      array_ops(),         batch_matmul_ops(), constant_ops(),      special_ops(),
      split_ops(),         control_flow_ops(), conv_ops(),          join_ops(),
      math_ops(),          matrix_ops(),       resize_ops(),        indexing_ops(),
      normalization_ops(), nn_ops(),           queue_ops(),         random_ops(),
      slice_ops(),         state_ops(),        strided_slice_ops(), summary::detail::summary_ops(),
      training_ops(),      restore_ops(),      iterator_ops()};
  return families;
}

const OpDef* find_own_op_def(std::string_view type) { return find_op_def(type); }

}  // namespace trainhook::detail

namespace trainhook {

const OpDef* find_op_def(std::string_view type, std::span<const OpDef> extra) noexcept {
  const auto own = std::ranges::find(extra, type, &OpDef::type);
  if (own != extra.end()) return &*own;
  for (const detail::OpFamily family : detail::op_families()) {
    const auto found = std::ranges::find(family, type, &OpDef::type);
    if (found != family.end()) return *found;
  }
  return nullptr;
}

}  // namespace trainhook
