// SPDX-License-Identifier: Apache-2.0
/// @file
/// What the tests of GraphSession share.
#pragma once

#include <initializer_list>
#include <string>

#include <gtest/gtest.h>

#include <trainhook/engine/graph_session.hpp>
#include <trainhook/engine/kernels.hpp>
#include <trainhook/graph/ops/constant.hpp>

namespace trainhook::test {

inline GraphSessionOptions all_kernels(Clock* clock = nullptr) {
  return {.kernels = {kernels::math(), kernels::state(), kernels::random()}, .seed = 0, .clock = clock};
}

/// What an error of that type says which `code` throws.
template <class ErrorType, class Code>
std::string message_of(Code code) {
  try {
    code();
  } catch (const ErrorType& error) { return error.what(); }
  return "no such error";
}

inline bool contains(const std::string& text, const std::string& piece) {
  return text.find(piece) != std::string::npos;
}

class GraphSessionTest : public ::testing::Test {
 protected:
  Output vector(std::initializer_list<float> values) { return constant(graph_, Tensor::of<float>(values)); }

  Graph graph_;
};

}  // namespace trainhook::test
