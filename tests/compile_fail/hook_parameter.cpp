// SPDX-License-Identifier: Apache-2.0
/// @file
/// A callback with another parameter than the hook's is not a callback, and the compiler says so.
// WRONG: override
#include <trainhook/session/session_run_hook.hpp>

class CountRuns final : public trainhook::SessionRunHook {
 public:
#ifdef WRONG
  void after_run(trainhook::SessionRunContext&, trainhook::SessionRunValues&) override { ++runs_; }
#else
  void after_run(trainhook::SessionRunContext&, const trainhook::SessionRunValues&) override { ++runs_; }
#endif

 private:
  int runs_ = 0;
};

CountRuns make() { return {}; }
