// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/model/ops/registry.hpp>

#include <array>

#include <trainhook/data/iterator_resource.hpp>
#include <trainhook/graph/ops/cast.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/ops/control_flow.hpp>
#include <trainhook/graph/ops/restore.hpp>
#include <trainhook/graph/ops/state.hpp>
#include <trainhook/graph/ops/summary.hpp>
#include <trainhook/model/ops/all_reduce.hpp>
#include <trainhook/model/ops/array.hpp>
#include <trainhook/model/ops/broadcast.hpp>
#include <trainhook/model/ops/conv.hpp>
#include <trainhook/model/ops/indexing.hpp>
#include <trainhook/model/ops/join.hpp>
#include <trainhook/model/ops/math.hpp>
#include <trainhook/model/ops/matrix.hpp>
#include <trainhook/model/ops/nn.hpp>
#include <trainhook/model/ops/normalization.hpp>
#include <trainhook/model/ops/queue.hpp>
#include <trainhook/model/ops/random.hpp>
#include <trainhook/model/ops/resize.hpp>
#include <trainhook/model/ops/slice.hpp>
#include <trainhook/model/ops/special.hpp>
#include <trainhook/model/ops/split.hpp>
#include <trainhook/model/ops/strided_slice.hpp>
#include <trainhook/model/ops/training.hpp>

namespace trainhook::model {

std::span<const detail::OpFamily> ops() noexcept {
  using namespace detail;
  static const std::array families{all_reduce_ops(),
                                   array_ops(),
                                   batch_matmul_ops(),
                                   broadcast_ops(),
                                   cast_ops(),
                                   constant_ops(),
                                   special_ops(),
                                   split_ops(),
                                   control_flow_ops(),
                                   conv_ops(),
                                   join_ops(),
                                   math_ops(),
                                   matrix_ops(),
                                   resize_ops(),
                                   indexing_ops(),
                                   normalization_ops(),
                                   nn_ops(),
                                   queue_ops(),
                                   random_ops(),
                                   slice_ops(),
                                   state_ops(),
                                   strided_slice_ops(),
                                   summary::detail::summary_ops(),
                                   training_ops(),
                                   restore_ops(),
                                   iterator_ops()};
  return families;
}

}  // namespace trainhook::model
