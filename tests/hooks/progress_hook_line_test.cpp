// SPDX-License-Identifier: Apache-2.0
/// @file
/// ProgressLine: always finished.
#include <trainhook/hooks/progress_hook.hpp>

#include <string>

#include <gtest/gtest.h>

namespace trainhook {
namespace {

using detail::ProgressLine;
using detail::ProgressSink;

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

TEST(ProgressLine, IsFinishedByItsDestructorIfNothingElseDid) {
  Screen screen;
  {
    ProgressLine line(screen.sink, true, 80);
    line.show("one");
  }
  EXPECT_EQ(screen.text, "one\x1b[K\r\n");
}

TEST(ProgressLine, IsNotCutInsideALetter) {
  Screen screen;
  ProgressLine line(screen.sink, true, 3);
  line.show("K\xc3\xa4se\xe2\x82\xac");
  EXPECT_EQ(screen.text, "K\xc3\xa4s\x1b[K\r");
}

TEST(ProgressLine, CutsALineThatWouldWrapButNotTheLast) {
  Screen screen;
  ProgressLine line(screen.sink, true, 4);
  line.show("123456");
  line.finish("123456");
  EXPECT_EQ(screen.text, "1234\x1b[K\r123456\x1b[K\n");
}

}  // namespace
}  // namespace trainhook
