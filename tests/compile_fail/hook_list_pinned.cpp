// SPDX-License-Identifier: Apache-2.0
/// @file
/// A hook that cannot be moved is made in place.
// WRONG: make it in place with trainhook::make_hook<Hook>(...)
#include <memory>
#include <utility>

#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/monitored/monitored_training_session.hpp>

namespace th = trainhook;

class Pinned final : public th::SessionRunHook {
 public:
  Pinned() = default;
  Pinned(Pinned&&) = delete;
};

void train(th::LoopSession& loop) {
#ifdef WRONG
  auto session = th::monitored_training_session(loop, {.hooks = {Pinned()}});
#else
  auto session = th::monitored_training_session(loop, {.hooks = {th::make_hook<Pinned>()}});
#endif
}
