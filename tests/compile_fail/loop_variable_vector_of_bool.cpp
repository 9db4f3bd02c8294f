// SPDX-License-Identifier: Apache-2.0
/// @file
/// The elements of a std::vector<bool> have no address.
// WRONG: std::vector<std::uint8_t> for bools
#include <cstdint>
#include <vector>

#include <trainhook/loop/loop_session.hpp>

namespace th = trainhook;

void bind(th::LoopSession& loop) {
#ifdef WRONG
  std::vector<bool> mask(8);
  loop.variable("mask", mask);
#else
  std::vector<std::uint8_t> mask(8);
  loop.variable("mask", mask);
#endif
}
