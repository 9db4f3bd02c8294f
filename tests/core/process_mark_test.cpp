// SPDX-License-Identifier: Apache-2.0
/// @file
/// An object knows whether it is in the process that made it.
#include <trainhook/core/process_mark.hpp>

#include <unistd.h>

#include <string>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/testing/process_faults.hpp>

namespace trainhook {
namespace {

using testing::run_in_forked_child;

TEST(ProcessMark, IsNotHereInAForkedChild) {
  const detail::ProcessMark mark;
  EXPECT_TRUE(mark.is_here());
  EXPECT_NO_THROW(mark.expect_here("the thing"));
  const pid_t parent = ::getpid();
  EXPECT_EQ(run_in_forked_child([&] {
              const detail::ProcessMark own;
              if (mark.is_here() || !own.is_here()) throw InternalError("the marks are wrong");
              try {
                mark.expect_here("the thing", "use another");
              } catch (const FailedPreconditionError& error) {
                const std::string wanted = "process " + std::to_string(::getpid()) + " was forked from process " +
                                           std::to_string(parent) + ", which has the thing: use another";
                if (error.what() != wanted) throw;
                return;
              }
              throw InternalError("it is not refused");
            }),
            0);
  EXPECT_TRUE(mark.is_here());
}

TEST(ProcessMark, IsNotHereInAChildsChild) {
  const detail::ProcessMark mark;
  EXPECT_EQ(run_in_forked_child([&] {
              const detail::ProcessMark own;
              const int status = run_in_forked_child([&] {
                if (mark.is_here() || own.is_here()) throw InternalError("the marks are wrong");
              });
              if (status != 0 || mark.is_here() || !own.is_here()) throw InternalError("the marks are wrong");
            }),
            0);
}

}  // namespace
}  // namespace trainhook
