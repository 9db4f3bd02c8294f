// SPDX-License-Identifier: Apache-2.0
/// @file
/// A feed is a tensor.
// WRONG: the value of a feed is a Tensor
#include <span>
#include <vector>

#include <trainhook/session/session_ref.hpp>

namespace th = trainhook;

void step(th::SessionRef session, th::Operation train, th::Output image) {
#ifdef WRONG
  const std::vector<float> pixels(4);
  session.run(train, {{image, pixels}});
#else
  const std::vector<float> pixels(4);
  session.run(train, {{image, th::Tensor::copy_of(std::span(pixels), {4})}});
#endif
}
