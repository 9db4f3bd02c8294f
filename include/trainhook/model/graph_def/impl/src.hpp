// SPDX-License-Identifier: Apache-2.0
/// @file
/// All bodies of model/graph_def/.
#pragma once

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#error "this file belongs to separate compilation: define TRAINHOOK_SEPARATE_COMPILATION for all files of the program"
#endif

#include <trainhook/model/graph_def/impl/graph_def_messages.ipp>
#include <trainhook/model/graph_def/impl/graph_def_writer.ipp>
#include <trainhook/model/graph_def/impl/graph_export.ipp>
#include <trainhook/model/graph_def/impl/meta_graph_def.ipp>
#include <trainhook/model/graph_def/impl/node_def.ipp>
#include <trainhook/model/graph_def/impl/tensor_proto.ipp>
