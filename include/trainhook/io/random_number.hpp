// SPDX-License-Identifier: Apache-2.0
/// @file
/// Random numbers of the system, for names and for seeds that a user did not choose.
#pragma once

#include <cstdint>

#include <trainhook/core/linkage.hpp>

namespace trainhook::detail {

/// A number that differs between calls, processes and machines, also in a sandbox that refuses the system's random
/// bytes. It must not decide what a seed of the user decides.
[[nodiscard]] TRAINHOOK_DECL std::uint64_t random_number() noexcept;

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/io/impl/random_number.ipp>
#endif
