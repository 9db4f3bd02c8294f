// SPDX-License-Identifier: Apache-2.0
/// @file
/// with_inlined_functions: puts the bodies of functions in place of their calls.
#pragma once

#include <trainhook/compat/graph_def_reader.hpp>
#include <trainhook/core/linkage.hpp>

namespace trainhook::detail {

/// Replaces nodes that call functions of `def`: PartitionedCall, StatefulPartitionedCall, and those whose op type is
/// the name of a function. The nodes of a body have names such as `call/node`, and are placed after all others. The
/// call itself becomes the identity of the results, or a NoOp, so that its outputs keep their names. If and StatelessIf
/// become Switch and Merge, with the bodies `if/then/node` and `if/else/node`. The result has no functions.
///
/// Calls of functions that are not there or return a resource, and an If whose condition is no bool, stay as they are.
/// @throws InvalidArgumentError for a body that does not fit its call, and UnimplementedError for functions that call
/// themselves. Source: `inline_function_utils.cc` and `lower_if_op.cc` of TensorFlow.
[[nodiscard]] TRAINHOOK_DECL GraphDef with_inlined_functions(GraphDef def);

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/compat/impl/function_calls.ipp>
#endif
