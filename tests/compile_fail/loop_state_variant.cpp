// SPDX-License-Identifier: Apache-2.0
/// @file
/// An address means nothing after a restart, as one of the types of a variant as well.
// WRONG: use state(name, save, load)
#include <variant>

#include <trainhook/loop/loop_session.hpp>

namespace th = trainhook;

void bind(th::LoopSession& loop) {
#ifdef WRONG
  std::variant<int, int*> choice;
#else
  std::variant<int, float> choice;
#endif
  loop.state("choice", choice);
}
