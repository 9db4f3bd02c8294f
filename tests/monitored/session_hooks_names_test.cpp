// SPDX-License-Identifier: Apache-2.0
/// @file
/// The names of hooks in checkpoints and messages, and the messages about a hook that fails.
#include <trainhook/monitored/session_hooks.hpp>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/loop/loop_session.hpp>
#include <trainhook/monitored/monitored_training_session.hpp>
#include <trainhook/testing/log_lines.hpp>

namespace trainhook {
namespace {

/// Throws from one of its callbacks.
class BrokenHook final : public SessionRunHook {
 public:
  explicit BrokenHook(std::string where, std::exception_ptr error = std::make_exception_ptr(UnknownError("broken")))
      : where_(std::move(where)), error_(std::move(error)) {}
  void begin(Graph&) override { may_throw("begin"); }
  void after_create_session(SessionRef, Coordinator&) override { may_throw("after_create_session"); }
  SessionRunArgs before_run(SessionRunContext&) override {
    may_throw("before_run");
    return {};
  }
  void after_run(SessionRunContext&, const SessionRunValues&) override { may_throw("after_run"); }
  void end(SessionRef) override { may_throw("end"); }
  std::optional<std::string> veto_save() override {
    may_throw("veto_save");
    return std::nullopt;
  }

 private:
  void may_throw(const std::string& callback) const {
    if (callback == where_) std::rethrow_exception(error_);
  }
  std::string where_;
  std::exception_ptr error_;
};

class WholeHook final : public SessionRunHook {};

/// Trains one step with a whole hook on each side of the broken one; its error is the caller's.
void train(BrokenHook hook) {
  LoopSession loop;
  auto session = monitored_training_session(loop, {.hooks = {WholeHook(), std::move(hook), WholeHook()}});
  session.run([] {});
  session.close();
}

TEST(HookFailures, NameTheHookAndTheCallback) {
  for (const std::string callback : {"after_create_session", "before_run", "after_run", "end"}) {
    testing::LogLines log;
    EXPECT_THROW(train(BrokenHook(callback)), UnknownError) << callback;
    EXPECT_EQ(log.count("E hook 'BrokenHook' failed in " + callback + ": "), 1U) << callback;
    EXPECT_EQ(log.count("broken"), 1U) << callback;
  }
}

TEST(HookFailures, OfAVetoNameTheHookThatHasIt) {
  testing::LogLines log;
  const detail::Hooks hooks = {std::make_shared<WholeHook>(), std::make_shared<BrokenHook>("veto_save")};
  EXPECT_THROW(static_cast<void>(detail::first_veto(hooks)), UnknownError);
  EXPECT_EQ(log.count("E hook 'BrokenHook' failed in veto_save: Unknown: broken"), 1U);
}

TEST(HookFailures, InBeginAreNamedByTheErrorItself) {
  testing::LogLines log;
  try {
    train(BrokenHook("begin"));
    FAIL();
  } catch (const UnknownError& error) { EXPECT_STREQ(error.what(), "hook 'BrokenHook' failed in begin: broken"); }
  const std::string named = "BrokenHook: broken by itself";
  try {
    train(BrokenHook("begin", std::make_exception_ptr(UnknownError(named))));
    FAIL();
  } catch (const UnknownError& error) { EXPECT_EQ(error.what(), named); }
  EXPECT_EQ(log.count("broken"), 0U) << "said once, by whoever catches it";
}

TEST(HookFailures, InBeginThatAreNoneOfOursAreLogged) {
  testing::LogLines log;
  EXPECT_THROW(train(BrokenHook("begin", std::make_exception_ptr(std::range_error("broken")))), std::range_error);
  EXPECT_EQ(log.count("E hook 'BrokenHook' failed in begin: "), 1U);
}

TEST(HookFailures, AreNotTheEndOfTheInput) {
  testing::LogLines log;
  EXPECT_THROW(train(BrokenHook("before_run", std::make_exception_ptr(OutOfRangeError("end")))), OutOfRangeError);
  EXPECT_EQ(log.count("failed in"), 0U);
}

}  // namespace
}  // namespace trainhook
