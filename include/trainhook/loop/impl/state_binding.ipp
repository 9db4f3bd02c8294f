// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of state_binding.hpp.
#pragma once

#include <trainhook/loop/state_binding.hpp>

namespace trainhook::detail {

TRAINHOOK_DECL const std::string& text_of(const Tensor& value) { return value.data<std::string>()[0]; }

}  // namespace trainhook::detail
