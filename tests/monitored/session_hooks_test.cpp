// SPDX-License-Identifier: Apache-2.0
/// @file
/// SessionHooks: which hooks are told of an end, and what is left of them in the graph.
#include <trainhook/monitored/session_hooks.hpp>

#include <cstddef>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/core/saveable.hpp>
#include <trainhook/events/file_writer_cache.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/testing/manual_clock.hpp>
#include <trainhook/testing/memory_file_system.hpp>
#include <trainhook/testing/recording_hook.hpp>
#include <trainhook/testing/scripted_session.hpp>

namespace trainhook::detail {
namespace {

using testing::RecordingHook;

struct SessionHooksTest : ::testing::Test {
  std::shared_ptr<RecordingHook> hook(const std::string& name) {
    return std::make_shared<RecordingHook>(trace, RecordingHook::Options{.name = name});
  }
  [[nodiscard]] std::size_t num_saveables() {
    return script.graph().collection<std::shared_ptr<Saveable>>(graph_keys::kSaveableObjects).size();
  }

  std::shared_ptr<testing::Trace> trace = std::make_shared<testing::Trace>();
  testing::Script script;
  testing::MemoryFileSystem disk;
  testing::ManualClock clock;
  FileWriterCache writers{{.file_system = &disk, .clock = &clock}};
  detail::SessionServices services{disk, clock, writers};
  std::shared_ptr<RecordingHook> a = hook("a");
  std::shared_ptr<RecordingHook> b = hook("b");
  std::shared_ptr<RecordingHook> c = hook("c");
  SessionHooks hooks{{a, b, c}, services};
};

TEST_F(SessionHooksTest, AbortsTheLastFirst) {
  hooks.begin(script.graph());
  static_cast<void>(trace->take());
  hooks.abort(nullptr);
  EXPECT_EQ(trace->take(), "c.abort no error\nb.abort no error\na.abort no error\n");
}

TEST_F(SessionHooksTest, AbortsNoneThatHasNotBegun) {
  b->act["begin"] = [](SessionRunContext*) { throw InternalError("no"); };
  EXPECT_THROW(hooks.begin(script.graph()), InternalError);
  hooks.abort(nullptr);
  EXPECT_EQ(trace->take(), "a.begin\nb.begin\nb.abort no error\na.abort no error\n");
}

TEST_F(SessionHooksTest, EndsAllAlsoIfOneThrows) {
  hooks.begin(script.graph());
  static_cast<void>(trace->take());
  a->act["end"] = [](SessionRunContext*) { throw InternalError("no"); };
  testing::ScriptedSession session(script);
  std::vector<std::exception_ptr> errors;
  hooks.end(session, errors);
  EXPECT_EQ(trace->take(), "a.end\nb.end\nc.end\n");
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_EQ(describe(errors[0]), "Internal: no");
}

TEST_F(SessionHooksTest, AnotherSessionCanHaveThemOnceThisOneHasLeft) {
  hooks.begin(script.graph());
  SessionHooks others({b}, services);
  EXPECT_THROW(others.begin(script.graph()), FailedPreconditionError);
  others.leave();
  EXPECT_FALSE(detail::HookAccess::claim(*b));  // it is still the first one's
  hooks.leave();
  others.begin(script.graph());
  others.leave();
}

TEST_F(SessionHooksTest, TheirStateIsInTheGraphUntilTheyLeave) {
  hooks.save_with(script.graph(), false);
  hooks.begin(script.graph());
  EXPECT_EQ(num_saveables(), 1U);
  hooks.leave();
  EXPECT_EQ(num_saveables(), 0U);
}

}  // namespace
}  // namespace trainhook::detail
