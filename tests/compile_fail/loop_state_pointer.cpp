// SPDX-License-Identifier: Apache-2.0
/// @file
/// The address that a pointer holds means nothing after a restart.
// WRONG: use state(name, save, load)
#include <trainhook/loop/loop_session.hpp>

namespace th = trainhook;

void bind(th::LoopSession& loop) {
#ifdef WRONG
  double total = 0;
  double* where = &total;
  loop.state("total", where);
#else
  double total = 0;
  double* where = &total;
  loop.state("total", *where);
#endif
}
