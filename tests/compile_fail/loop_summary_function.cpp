// SPDX-License-Identifier: Apache-2.0
/// @file
/// A function of a summary receives its tag.
// WRONG: the function of a summary takes its tag
#include <string>
#include <string_view>

#include <trainhook/loop/loop_session.hpp>

namespace th = trainhook;

void bind(th::LoopSession& loop) {
#ifdef WRONG
  loop.summary("note", [] { return std::string(); });
#else
  loop.summary("note", [](std::string_view tag) { return std::string(tag); });
#endif
}
