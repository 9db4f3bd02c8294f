// SPDX-License-Identifier: Apache-2.0
/// @file
/// A loop refers to memory and cannot be copied.
// WRONG: pass it as LoopSession&
#include <trainhook/loop/loop_session.hpp>

namespace th = trainhook;

#ifdef WRONG
void run_all(th::LoopSession loop);
#else
void run_all(th::LoopSession& loop);
#endif

void train(th::LoopSession& loop) { run_all(loop); }
