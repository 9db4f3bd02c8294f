// SPDX-License-Identifier: Apache-2.0
/// @file
/// The names of types in messages.
#pragma once

#include <string>
#include <typeinfo>

#include <trainhook/core/linkage.hpp>

namespace trainhook::detail {

/// `trainhook::StopAtStepHook` as `StopAtStepHook`, `my::Hook<std::string>` as `Hook`: without scopes and template
/// arguments.
[[nodiscard]] TRAINHOOK_DECL std::string short_type_name(const std::string& name);

[[nodiscard]] TRAINHOOK_DECL std::string short_type_name(const std::type_info& type);

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/core/impl/type_name.ipp>
#endif
