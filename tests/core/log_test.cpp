// SPDX-License-Identifier: Apache-2.0
/// @file
/// Log lines and the sink that takes them; which terminals get escape sequences.
#include <trainhook/core/log.hpp>

#include <fcntl.h>
#include <pty.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <semaphore>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/testing/process_faults.hpp>

namespace trainhook {
namespace {

/// Collects lines while it lives.
class Lines {
 public:
  Lines()
      : before_(set_log_sink([this](LogLevel level, std::string_view line) {
          all.push_back(std::string(level == LogLevel::Info      ? "I "
                                    : level == LogLevel::Warning ? "W "
                                                                 : "E ") +
                        std::string(line));
        })) {}
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;
  ~Lines() { set_log_sink(before_); }
  std::vector<std::string> all;

 private:
  LogSink before_;
};

TEST(Log, LinesGoToTheSinkWithTheirLevel) {
  const Lines lines;
  log_info("saved step {}", 100);
  log_warning("slow disk");
  log_error("lost {} s", 2.5);
  EXPECT_EQ(lines.all, (std::vector<std::string>{"I saved step 100", "W slow disk", "E lost 2.5 s"}));
}

TEST(Log, SettingASinkReturnsTheOneBefore) {
  const Lines outer;
  {
    const Lines inner;
    log_info("in");
    EXPECT_EQ(inner.all.size(), 1u);
  }
  log_info("out");
  EXPECT_EQ(outer.all, std::vector<std::string>{"I out"});
}

TEST(Log, WithoutASinkLinesGoToStandardError) {
  const LogSink before = set_log_sink({});
  ::testing::internal::CaptureStderr();
  log_warning("no sink");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "W no sink\n");
  set_log_sink(before);
}

TEST(Log, ThePrefixIsInTheLinesOfEverySink) {
  const Lines lines;
  detail::set_log_prefix("[rank 2] ");
  log_warning("slow disk");
  const LogSink to_lines = set_log_sink({});
  ::testing::internal::CaptureStderr();
  log_info("saved");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "I [rank 2] saved\n");
  set_log_sink(to_lines);
  detail::set_log_prefix("");
  EXPECT_EQ(lines.all, std::vector<std::string>{"W [rank 2] slow disk"});
}

TEST(Log, ASinkThatThrowsDoesNoHarm) {
  const LogSink before = set_log_sink([](LogLevel, std::string_view) { throw std::runtime_error("full"); });
  EXPECT_NO_THROW(log_info("line"));
  set_log_sink(before);
}

TEST(Log, WhatASinkLogsIsDroppedAndThatIsSaidOnce) {
  std::vector<std::string> all;
  const LogSink before = set_log_sink([&](LogLevel, std::string_view line) {
    all.emplace_back(line);
    log_info("seen: {}", line);
  });
  log_info("one");
  log_info("two");
  set_log_sink(before);
  EXPECT_EQ(all, (std::vector<std::string>{"one", "the log sink logs lines itself, which are dropped", "two"}));
}

TEST(Log, ASinkThatHangsStopsNoOtherThread) {
  std::vector<std::string> all;
  std::binary_semaphore entered(0);
  std::binary_semaphore may_leave(0);
  const LogSink before = set_log_sink([&](LogLevel, std::string_view line) {
    all.emplace_back(line);
    if (line != "hangs") return;
    entered.release();
    may_leave.acquire();
  });
  {
    const std::jthread hangs([] { log_info("hangs"); });
    entered.acquire();
    log_info("of another thread");
    may_leave.release();
  }
  set_log_sink(before);
  EXPECT_EQ(all, (std::vector<std::string>{"hangs", "of another thread"}));
}

TEST(Log, ASinkThatWasReplacedIsNoLongerInUse) {
  std::binary_semaphore entered(0);
  std::atomic<bool> may_leave = false;
  std::atomic<bool> is_inside = false;
  const LogSink before = set_log_sink([&](LogLevel, std::string_view) {
    is_inside = true;
    entered.release();
    while (!may_leave) std::this_thread::yield();
    is_inside = false;
  });
  const std::jthread writes([] { log_info("line"); });
  entered.acquire();
  const std::jthread lets_it_leave([&] { may_leave = true; });
  set_log_sink(before);
  EXPECT_FALSE(is_inside);
}

TEST(Log, TheSinkIsCalledByOneThreadAtATime) {
  const Lines lines;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([] {
        for (int line = 0; line < 100; ++line) log_info("line {}", line);
      });
    }
  }
  EXPECT_EQ(lines.all.size(), 400u);
}

TEST(Log, ALineThatNobodyReadsEndsNothing) {
  EXPECT_EQ(testing::run_in_forked_child([] {
              std::array<int, 2> ends{};
              if (::pipe(ends.data()) != 0 || ::dup2(ends[1], STDERR_FILENO) < 0) throw InternalError("no pipe");
              ::close(ends[0]);
              set_log_sink({});
              log_info("into a broken pipe");
            }),
            0)
      << "SIGPIPE would have ended it";
}

TEST(Log, AForkedChildCanLogWhateverOtherThreadsDid) {
  const LogSink before = set_log_sink([](LogLevel, std::string_view) {  // a thread that holds the log when it forks
    const int status = testing::run_in_forked_child([] {
      set_log_sink([](LogLevel, std::string_view) {});
      log_info("of the child");
    });
    EXPECT_EQ(status, 0);
  });
  log_info("of the parent");
  set_log_sink(before);
}

/// Sets a variable of the environment, or removes it, and takes that back.
class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    value != nullptr ? setenv(name, value, 1) : unsetenv(name);
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
  ~Environment() { before_ ? setenv(name_, before_->c_str(), 1) : unsetenv(name_); }

 private:
  const char* name_;
  std::optional<std::string> before_;
};

struct Case {
  const char* terminal;
  const char* no_color;
  bool takes;
};

TEST(Terminal, TakesEscapesUnlessItCannotOrItsUserWantsNone) {
  int master = -1, slave = -1;
  ASSERT_EQ(openpty(&master, &slave, nullptr, nullptr, nullptr), 0);
  std::FILE* const screen = fdopen(slave, "w");
  for (const Case& each : {Case{"xterm", nullptr, true}, Case{"xterm", "", true}, Case{"xterm", "1", false},
                           Case{"dumb", nullptr, false}, Case{nullptr, nullptr, false}}) {
    const Environment terminal("TERM", each.terminal);
    const Environment no_color("NO_COLOR", each.no_color);
    EXPECT_EQ(detail::takes_escapes(screen), each.takes) << (each.terminal != nullptr ? each.terminal : "none");
  }
  std::fclose(screen);
  close(master);
}

TEST(Terminal, IsNoFile) {
  const Environment terminal("TERM", "xterm");
  const Environment no_color("NO_COLOR", nullptr);
  std::FILE* const file = std::tmpfile();
  EXPECT_FALSE(detail::takes_escapes(file));
  std::fclose(file);
}

}  // namespace
}  // namespace trainhook
