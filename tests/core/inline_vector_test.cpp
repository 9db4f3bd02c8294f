// SPDX-License-Identifier: Apache-2.0
/// @file
/// A vector with room inside itself.
#include <trainhook/core/inline_vector.hpp>

#include <allocations.hpp>

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace trainhook {
namespace {

using detail::InlineVector;

using Words = InlineVector<std::string, 2>;
std::string long_word(char letter) {
  return std::string(100, letter);
}  // on the heap, so that a leak or a double free shows
std::vector<std::string> all(const Words& words) { return {words.begin(), words.end()}; }

TEST(InlineVector, AllocatesOnlyBeyondItsRoom) {
  const support::AllocationCount count;
  InlineVector<int, 3> numbers{1, 2, 3};
  const InlineVector<int, 3> copy = numbers;
  EXPECT_EQ(count.so_far(), 0u);
  numbers.push_back(4);
  EXPECT_EQ(count.so_far(), 1u);
  EXPECT_EQ(numbers.size(), 4u);
  EXPECT_EQ(numbers[3], 4);
  EXPECT_EQ(copy.size(), 3u);
}

TEST(InlineVector, KeepsItsElementsWhileItGrows) {
  Words words;
  std::vector<std::string> expected;
  for (char letter = 'a'; letter < 'n'; ++letter) {
    words.push_back(long_word(letter));
    expected.push_back(long_word(letter));
    EXPECT_EQ(all(words), expected);
  }
}

TEST(InlineVector, TakesOneOfItsOwnElements) {
  Words words{long_word('a'), long_word('b')};
  words.push_back(words[0]);  // grows while the argument is inside
  EXPECT_EQ(words[2], long_word('a'));
}

TEST(InlineVector, CopiesAndMovesInBothKindsOfRoom) {
  const Words inside{long_word('a')};
  const Words outside{long_word('a'), long_word('b'), long_word('c')};
  for (const Words* source : {&inside, &outside}) {
    for (const Words* target : {&inside, &outside}) {
      Words assigned = *target;
      assigned = *source;
      EXPECT_EQ(all(assigned), all(*source));
      Words moved = *target;
      Words from = *source;
      moved = std::move(from);
      EXPECT_EQ(all(moved), all(*source));
      EXPECT_TRUE(from.empty());  // NOLINT(bugprone-use-after-move): left empty, and usable
      from.push_back(long_word('z'));
      EXPECT_EQ(from.size(), 1u);
    }
  }
}

TEST(InlineVector, SurvivesAssignmentToItself) {
  Words words{long_word('a'), long_word('b'), long_word('c')};
  const Words& same = words;
  words = same;
  EXPECT_EQ(words.size(), 3u);
}

TEST(InlineVector, ClearedIsEmptyAndKeepsItsRoom) {
  InlineVector<int, 1> numbers{1, 2, 3};
  numbers.clear();
  EXPECT_TRUE(numbers.empty());
  const support::AllocationCount count;
  numbers.push_back(1);
  numbers.push_back(2);
  EXPECT_EQ(count.so_far(), 0u);
}

}  // namespace
}  // namespace trainhook
