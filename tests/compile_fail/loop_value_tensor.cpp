// SPDX-License-Identifier: Apache-2.0
/// @file
/// The dtype and shape of a Tensor are not part of its type.
// WRONG: for a Tensor write value(name, function, OutputSpec
#include <trainhook/loop/loop_session.hpp>

namespace th = trainhook;

void bind(th::LoopSession& loop) {
#ifdef WRONG
  th::Tensor loss;
  loop.value("loss", [&loss] { return loss; });
#else
  th::Tensor loss;
  loop.value("loss", [&loss] { return loss; }, {th::DType::Float, th::Shape{}});
#endif
}
