// SPDX-License-Identifier: Apache-2.0
/// @file
/// Of a class that derives from a container, the elements are not all.
// WRONG: write visit_state(visit, object) for a struct
#include <vector>

#include <trainhook/loop/loop_session.hpp>

namespace th = trainhook;

struct Counted : std::vector<double> {
  int changes = 0;
};
#ifndef WRONG
void visit_state(const auto& visit, Counted& counted) {
  visit("items", static_cast<std::vector<double>&>(counted));
  visit("changes", counted.changes);
}
#endif

void bind(th::LoopSession& loop) {
  Counted counted;
  loop.state("counted", counted);
}
