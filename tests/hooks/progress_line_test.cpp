// SPDX-License-Identifier: Apache-2.0
/// @file
/// ProgressLine: always finished.
#include <trainhook/hooks/progress_line.hpp>

#include <chrono>
#include <string>

#include <gtest/gtest.h>

namespace trainhook {
namespace {

using detail::duration_text;
using detail::ProgressLine;
using detail::ProgressSink;

using namespace std::chrono_literals;

struct Screen {
  std::string text;
  ProgressSink sink = [this](std::string_view more) { text += more; };
};

TEST(ProgressLine, WritesOverItselfOnATerminal) {
  Screen screen;
  ProgressLine line(screen.sink, true, 80);
  line.show("one");
  line.show("two");
  line.finish("done");
  EXPECT_EQ(screen.text, "one\x1b[K\rtwo\x1b[K\rdone\x1b[K\n");
}

TEST(ProgressLine, WritesPlainLinesElsewhere) {
  Screen screen;
  {
    ProgressLine line(screen.sink, false, 80);
    line.show("one");
    line.show("two");
  }
  EXPECT_EQ(screen.text, "one\ntwo\n");
}

TEST(ProgressLine, IsFinishedByItsDestructorWhereNobodyElseDid) {
  Screen screen;
  {
    ProgressLine line(screen.sink, true, 80);
    line.show("one");
  }
  EXPECT_EQ(screen.text, "one\x1b[K\r\n");
}

TEST(ProgressLine, CutsALineThatWouldWrapButNotTheLast) {
  Screen screen;
  ProgressLine line(screen.sink, true, 4);
  line.show("123456");
  line.finish("123456");
  EXPECT_EQ(screen.text, "1234\x1b[K\r123456\x1b[K\n");
}

TEST(DurationText, IsForPeople) {
  EXPECT_EQ(duration_text(0s), "0.0 s");
  EXPECT_EQ(duration_text(420ms), "0.4 s");
  EXPECT_EQ(duration_text(9990ms), "10 s");
  EXPECT_EQ(duration_text(59400ms), "59 s");
  EXPECT_EQ(duration_text(59600ms), "1 min 00 s");
  EXPECT_EQ(duration_text(185s), "3 min 05 s");
  EXPECT_EQ(duration_text(7620s), "2 h 07 min");
}

}  // namespace
}  // namespace trainhook
