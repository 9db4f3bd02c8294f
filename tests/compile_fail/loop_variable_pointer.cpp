// SPDX-License-Identifier: Apache-2.0
/// @file
/// A pointer does not know how many elements it points to.
// WRONG: write std::span(pointer, size) for a pointer
#include <memory>
#include <span>

#include <trainhook/loop/loop_session.hpp>

namespace th = trainhook;

void bind(th::LoopSession& loop) {
#ifdef WRONG
  auto weights = std::make_unique<float[]>(3);
  float* first = weights.get();
  loop.variable("weights", first);
#else
  auto weights = std::make_unique<float[]>(3);
  float* first = weights.get();
  loop.variable("weights", std::span(first, 3));
#endif
}
