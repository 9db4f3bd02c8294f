// SPDX-License-Identifier: Apache-2.0
/// @file
/// A member that is an address means nothing after a restart, in a struct of a container as well.
// WRONG: write a visit_state for its type
#include <vector>

#include <trainhook/loop/loop_session.hpp>

namespace th = trainhook;

struct Particle {
  double place = 0;
  Particle* next = nullptr;
};
void visit_state(const auto& visit, Particle& particle) {
  visit("place", particle.place);
#ifdef WRONG
  visit("next", particle.next);
#endif
}

void bind(th::LoopSession& loop) {
  std::vector<Particle> particles(3);
  loop.state("particles", particles);
}
