// SPDX-License-Identifier: Apache-2.0
/// @file
/// The elements of a map are not one piece of memory.
// WRONG: state(name, ...) for anything else
#include <map>
#include <string>

#include <trainhook/loop/loop_session.hpp>

namespace th = trainhook;

void bind(th::LoopSession& loop) {
  std::map<std::string, double> heat;
#ifdef WRONG
  loop.variable("heat", heat);
#else
  loop.state("heat", heat);
#endif
}
