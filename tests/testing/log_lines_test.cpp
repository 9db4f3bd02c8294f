// SPDX-License-Identifier: Apache-2.0
/// @file
/// LogLines: what it keeps, and that it gives the sink back.
#include <trainhook/testing/log_lines.hpp>

#include <cstddef>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace trainhook::testing {
namespace {

TEST(LogLines, KeepsLinesWithTheirLevel) {
  LogLines log;
  log_info("one");
  log_warning("two");
  log_error("two again");
  EXPECT_EQ(log.count("two"), 2U);
  EXPECT_EQ(log.take(), (std::vector<std::string>{"I one", "W two", "E two again"}));
  EXPECT_TRUE(log.lines.empty());
}

TEST(LogLines, MayBeCountedWhileAnotherThreadLogs) {
  constexpr std::size_t kLines = 200;
  LogLines log;
  std::thread other([] {
    for (std::size_t i = 0; i < kLines; ++i) log_info("line");
  });
  while (log.count("line") < kLines) std::this_thread::yield();
  other.join();
  EXPECT_EQ(log.take().size(), kLines);
}

TEST(LogLines, GivesTheSinkBack) {
  LogLines outer;
  {
    const LogLines inner;
    log_info("for the inner");
  }
  log_info("for the outer");
  EXPECT_EQ(outer.lines, std::vector<std::string>{"I for the outer"});
}

}  // namespace
}  // namespace trainhook::testing
