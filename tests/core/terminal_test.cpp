// SPDX-License-Identifier: Apache-2.0
/// @file
/// Which terminals get escape sequences.
#include <trainhook/core/terminal.hpp>

#include <fcntl.h>
#include <pty.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

#include <gtest/gtest.h>

namespace trainhook {
namespace {

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
