// SPDX-License-Identifier: Apache-2.0
/// @file
/// All bodies of graph/.
#pragma once

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#error "this file belongs to separate compilation: define TRAINHOOK_SEPARATE_COMPILATION for all files of the program"
#endif

#include <trainhook/graph/impl/global_step.ipp>
#include <trainhook/graph/impl/graph.ipp>
#include <trainhook/graph/impl/node.ipp>
#include <trainhook/graph/impl/op_builder.ipp>
#include <trainhook/graph/impl/op_def.ipp>
#include <trainhook/graph/impl/operand.ipp>
#include <trainhook/graph/impl/saved_input.ipp>
#include <trainhook/graph/impl/variable.ipp>
