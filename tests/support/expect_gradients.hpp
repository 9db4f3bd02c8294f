// SPDX-License-Identifier: Apache-2.0
/// @file
/// Which ops have gradients.
#pragma once

#include <span>
#include <string>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/node.hpp>
#include <trainhook/graph/op_def.hpp>
#include <trainhook/model/gradients.hpp>

namespace trainhook::support {

/// The registry gives the gradients of these ops, and refuses those that have none.
inline void expect_gradients(std::span<const trainhook::detail::OpFamily> families) {
  Graph graph;
  for (const trainhook::detail::OpFamily family : families) {
    for (const OpDef* def : family) {
      const Node node(graph, 0, {.type = std::string(def->type)}, def);
      const auto find = [&] { static_cast<void>(GradientRegistry().find(node)); };
      if (def->gradient != nullptr) {
        EXPECT_NO_THROW(find()) << def->type;
      } else {
        EXPECT_THROW(find(), NotFoundError) << def->type;
      }
    }
  }
}

}  // namespace trainhook::support
