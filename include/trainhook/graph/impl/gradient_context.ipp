// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of gradient_context.hpp.
#pragma once

#include <trainhook/graph/gradient_context.hpp>

#include <utility>

namespace trainhook::detail {

Grads no_gradient(const GradientContext& context) { return Grads(context.input_count()); }

}  // namespace trainhook::detail

namespace trainhook {

GradientContext::GradientContext(Operation op, std::vector<Output> grads, std::vector<bool> needed)
    : op_(op), grads_(std::move(grads)), needed_(std::move(needed)) {}

Output GradientContext::input(std::size_t index) const { return at(op_.node().inputs(), index, "inputs"); }

Output GradientContext::grad(std::size_t index) const { return at(grads_, index, "outputs"); }

bool GradientContext::needs(std::size_t index) const { return at(needed_, index, "inputs"); }

}  // namespace trainhook
