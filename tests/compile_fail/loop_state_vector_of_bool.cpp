// SPDX-License-Identifier: Apache-2.0
/// @file
/// The elements of a std::vector<bool> have no address: it needs a pair of functions.
// WRONG: use state(name, save, load)
#include <string>
#include <vector>

#include <trainhook/loop/loop_session.hpp>

namespace th = trainhook;

void bind(th::LoopSession& loop) {
#ifdef WRONG
  std::vector<bool> mask(8);
  loop.state("mask", mask);
#else
  std::vector<bool> mask(8);
  loop.state(
      "mask", [&mask] { return std::string(mask.begin(), mask.end()); },
      [&mask](const std::string& saved) { mask.assign(saved.begin(), saved.end()); });
#endif
}
