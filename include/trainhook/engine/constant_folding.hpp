// SPDX-License-Identifier: Apache-2.0
/// @file
/// Constant folding: a node that depends on constants only is computed when its run is planned.
#pragma once

#include <memory>
#include <vector>

#include <trainhook/core/linkage.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/engine/kernel.hpp>
#include <trainhook/graph/node.hpp>

namespace trainhook::detail {

/// False for a node whose results differ from run to run, and for one that makes a lot out of little, such as an
/// initial value, which is not worth keeping.
[[nodiscard]] TRAINHOOK_DECL bool can_be_folded(const Node& node, const KernelDef& def);

/// The outputs of a node that can be folded; empty if the kernel throws, which the run itself will say, or if they turn
/// out to be large.
[[nodiscard]] TRAINHOOK_DECL std::vector<std::unique_ptr<Tensor>> fold(Node& node, const Kernel& kernel,
                                                                       const std::vector<KernelContext::Input>& inputs);

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/engine/impl/constant_folding.ipp>
#endif
