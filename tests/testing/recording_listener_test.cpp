// SPDX-License-Identifier: Apache-2.0
/// @file
/// RecordingListener: what it writes down, and how it misbehaves.
#include <trainhook/testing/recording_listener.hpp>

#include <memory>
#include <stdexcept>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/testing/scripted_session.hpp>

namespace trainhook::testing {
namespace {

TEST(RecordingListener, WritesDownEveryCallback) {
  const auto trace = std::make_shared<Trace>();
  RecordingListener listener(trace, "a");
  Script script;
  ScriptedSession session(script);
  listener.begin();
  listener.before_save(session, 4);
  listener.save_failed(session, 4, std::make_exception_ptr(DataLossError("gone")));
  listener.save_failed(session, 5, std::make_exception_ptr(std::runtime_error("odd")));
  EXPECT_FALSE(listener.after_save(session, 6));
  listener.end(session, 6);
  EXPECT_EQ(trace->lines(),
            "a.begin\na.before_save 4\na.save_failed 4: DataLoss\na.save_failed 5: odd\na.after_save 6\na.end 6\n");
}

TEST(RecordingListener, DoesWhatItIsTold) {
  RecordingListener listener(std::make_shared<Trace>());
  Script script;
  ScriptedSession session(script);
  listener.stop_after = 2;
  listener.act["before_save 3"] = [] { throw UnknownError("fails"); };
  EXPECT_TRUE(listener.after_save(session, 2));
  EXPECT_FALSE(listener.after_save(session, 3));
  EXPECT_THROW(listener.before_save(session, 3), UnknownError);
}

}  // namespace
}  // namespace trainhook::testing
