// SPDX-License-Identifier: Apache-2.0
/// @file
/// An unordered container that is filled again may iterate in another order, and a sum over it has other bits then.
// WRONG: std::map for an unordered map
#include <map>
#include <string>
#include <unordered_map>

#include <trainhook/loop/loop_session.hpp>

namespace th = trainhook;

void bind(th::LoopSession& loop) {
#ifdef WRONG
  std::unordered_map<std::string, double> heat;
  loop.state("heat", heat);
#else
  std::map<std::string, double> heat;
  loop.state("heat", heat);
#endif
}
