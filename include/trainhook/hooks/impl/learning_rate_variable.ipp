// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/hooks/learning_rate_variable.hpp>

#include <algorithm>
#include <vector>

#include <trainhook/core/error.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/core/tensor.hpp>

namespace trainhook::detail {

DType require_learning_rate(SessionRef session, const std::string& name, std::string_view hook) {
  const std::vector<StateSpec> state = session.state();
  const auto found = std::ranges::find(state, name, &StateSpec::name);
  if (found == state.end()) {
    throw NotFoundError(
        "{}: the session has no variable '{}'; register the learning rate as a variable, "
        "and give its name as learning_rate",
        hook, name);
  }
  if ((found->dtype == DType::Float || found->dtype == DType::Double) && found->shape.compatible_with(Shape()))
    return found->dtype;
  throw InvalidArgumentError("{}: '{}' is {}{}; a learning rate is one float or one double", hook, name, found->dtype,
                             found->shape);
}

double read_learning_rate(SessionRef session, const std::string& name) {
  const Tensor rate = session.snapshot({&name, 1}).front().tensor;
  return rate.dtype() == DType::Float ? static_cast<double>(rate.scalar<float>()) : rate.scalar<double>();
}

void write_learning_rate(SessionRef session, const std::string& name, DType dtype, double rate) {
  const NamedTensor entry{name, dtype == DType::Float ? Tensor(static_cast<float>(rate)) : Tensor(rate)};
  session.load({&entry, 1});
}

}  // namespace trainhook::detail
