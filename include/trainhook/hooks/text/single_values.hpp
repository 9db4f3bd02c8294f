// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tensors from which a hook takes one value: one that can never be a single value is refused before the first step.
#pragma once

#include <cstdint>
#include <string_view>

#include <trainhook/core/dtype.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/session/fetch_refs.hpp>

namespace trainhook {

class Graph;

namespace detail {

/// What a hook takes. A bool is a number.
enum class Takes : std::uint8_t { Numbers, NumbersAndTexts };

/// @throws InvalidArgumentError, naming hook, value, dtype, shape and what to give instead, if no tensor of this dtype
/// and shape is a single value that the hook takes.
TRAINHOOK_DECL void expect_single_value(std::string_view hook, std::string_view value, DType dtype,
                                        const PartialShape& shape, Takes takes);

/// Looks up the tensors, for `begin`. @throws as `FetchRefs::resolve_outputs` and `expect_single_value`.
[[nodiscard]] TRAINHOOK_DECL FetchList resolve_single_values(const FetchRefs& refs, const Graph& graph,
                                                             std::string_view hook, Takes takes);

}  // namespace detail
}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/hooks/text/impl/single_values.ipp>
#endif
