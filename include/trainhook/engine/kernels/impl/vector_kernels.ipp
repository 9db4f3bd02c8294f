// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/engine/kernel_width.hpp>

#include <trainhook/engine/kernels.hpp>

namespace trainhook::kernels::detail {

extern "C" const VectorKernels* trainhook_vector_kernels() noexcept {
  static const VectorKernels groups{conv(),          depthwise(), math(),      matmul(),  nn(),
                                    normalization(), pool(),      reduction(), special(), training()};
  return &groups;
}

}  // namespace trainhook::kernels::detail
