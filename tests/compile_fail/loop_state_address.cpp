// SPDX-License-Identifier: Apache-2.0
/// @file
/// An address in a struct means nothing after a restart.
// WRONG: trivially copyable object without addresses
#include <trainhook/loop/loop_session.hpp>

namespace th = trainhook;

struct Link {
  double value = 0;
#ifdef WRONG
  Link* next = nullptr;
#else
  int next = -1;
#endif
};

void bind(th::LoopSession& loop) {
  Link link;
  loop.state("link", link);
}
