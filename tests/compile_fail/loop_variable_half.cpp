// SPDX-License-Identifier: Apache-2.0
/// @file
/// The half type of another library has the bits of Half or BFloat16, but is not known here.
// WRONG: std::span(reinterpret_cast<Half*>(pointer), size)
#include <cstdint>
#include <span>
#include <vector>

#include <trainhook/loop/loop_session.hpp>

namespace th = trainhook;

namespace other {
struct half {
  std::uint16_t x;
};
}  // namespace other

void bind(th::LoopSession& loop) {
  std::vector<other::half> weights(3);
#ifdef WRONG
  loop.variable("weights", weights);
#else
  loop.variable("weights", std::span(reinterpret_cast<th::Half*>(weights.data()), weights.size()));
#endif
}
