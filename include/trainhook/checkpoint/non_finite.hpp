// SPDX-License-Identifier: Apache-2.0
/// @file
/// Finds NaN and infinity in elements, for NanTensorHook and a saver that refuses to write them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include <trainhook/core/linkage.hpp>
#include <trainhook/core/saveable.hpp>

namespace trainhook::detail {

/// The index of the first element that is NaN or infinite; nothing if all are finite or the dtype is neither floating
/// nor complex.
[[nodiscard]] TRAINHOOK_DECL std::optional<std::size_t> first_non_finite(const StateMemory& elements);

/// @throws FailedPreconditionError, naming the tensor and the checkpoint `prefix`, if there is such an element.
TRAINHOOK_DECL void expect_finite(const std::string& name, const StateMemory& elements, const std::string& prefix);

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/checkpoint/impl/non_finite.ipp>
#endif
