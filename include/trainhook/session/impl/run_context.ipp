// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/session/run_context.hpp>

#include <trainhook/core/clock.hpp>
#include <trainhook/core/error.hpp>

namespace trainhook {

std::int64_t SessionRunContext::read_global_step() const {
  if (global_step_variable_ == nullptr) {
    throw FailedPreconditionError(
        "Global step should be created to use a hook that asks for it: get_or_create_global_step(graph)");
  }
  return trainhook::read_global_step(session_, *global_step_variable_);
}

Duration SessionRunContext::read_clock() const { return clock_->monotonic_now(); }

std::int64_t read_global_step(SessionRef session, const Variable& global_step) {
  const Fetch fetch(global_step);
  Tensor value;
  session.execute({.fetches = {&fetch, 1}}, {&value, 1});
  return value.dtype() == DType::Int32 ? value.scalar<std::int32_t>() : value.scalar<std::int64_t>();
}

}  // namespace trainhook
