// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/compat/kernels.hpp>

namespace trainhook::compat {

std::vector<KernelGroup> kernels() {
  using namespace trainhook::kernels;
  return {control_flow(), einsum(),  local_response(),  partition(),
          rearrange(),    scatter(), sparse_training(), truncation()};
}

}  // namespace trainhook::compat
