// SPDX-License-Identifier: Apache-2.0
/// @file
/// Checks, reads and changes a learning rate that is a variable of a session; for bodies of hooks.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/session/session_ref.hpp>

namespace trainhook::detail {

/// The dtype of the variable. @param hook names the hook in messages. @throws NotFoundError if the session has no such
/// variable, InvalidArgumentError if it is not one float or double.
[[nodiscard]] inline DType require_learning_rate(SessionRef session, const std::string& name, std::string_view hook) {
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

[[nodiscard]] inline double read_learning_rate(SessionRef session, const std::string& name) {
  const Tensor rate = session.snapshot({&name, 1}).front().tensor;
  return rate.dtype() == DType::Float ? static_cast<double>(rate.scalar<float>()) : rate.scalar<double>();
}

/// @param dtype that of the variable.
inline void write_learning_rate(SessionRef session, const std::string& name, DType dtype, double rate) {
  const NamedTensor entry{name, dtype == DType::Float ? Tensor(static_cast<float>(rate)) : Tensor(rate)};
  session.load({&entry, 1});
}

}  // namespace trainhook::detail
