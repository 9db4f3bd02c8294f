// SPDX-License-Identifier: Apache-2.0
/// @file
/// Input pipelines of a loop, and their positions.
#include <trainhook/data/loop_iterator.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include <expect_error.hpp>
#include <gtest/gtest.h>

#include <trainhook/data/dataset.hpp>
#include <trainhook/data/iterator_resource.hpp>
#include <trainhook/data/sources.hpp>

namespace trainhook {
namespace {

std::int64_t next(Iterator& iterator) {
  Element element;
  iterator.get_next(element);
  return element.at(0).scalar<std::int64_t>();
}

TEST(LoopIterator, IsStateOfTheLoopUnderTheNameThatInputHooksKnow) {
  LoopSession loop;
  Iterator& numbers = make_iterator(loop, Dataset::range(10), "numbers");
  EXPECT_EQ(next(numbers), 0);
  ASSERT_EQ(detail::iterators(loop.graph()).size(), 1U);
  const std::string name = detail::iterators(loop.graph())[0].state_name();
  EXPECT_EQ(name, "numbers-state");
  const StateSpec spec = loop.state().back();
  EXPECT_EQ(spec.name, name);
  EXPECT_EQ(spec.kind, StateKind::Input);

  const std::vector<NamedTensor> saved = loop.snapshot(std::vector{name});
  EXPECT_EQ(next(numbers), 1);
  EXPECT_EQ(next(numbers), 2);
  loop.load(saved);
  EXPECT_EQ(next(numbers), 1);
}

TEST(LoopIterator, KeepsItsPositionWhenTheSavedStateIsDamaged) {
  LoopSession loop;
  Iterator& numbers = make_iterator(loop, Dataset::range(10), "numbers");
  float weight = 1;
  loop.variable("weight", weight);
  EXPECT_EQ(next(numbers), 0);
  const std::vector<NamedTensor> entries{{"weight", Tensor(2.0F)}, {"numbers-state", Tensor("garbage")}};
  EXPECT_THROW(loop.load(entries), DataLossError);
  EXPECT_EQ(next(numbers), 1);
  EXPECT_EQ(weight, 1.0F);
}

TEST(LoopIterator, HasANameOfItsOwnAndNoneByTheOrderOfCreation) {
  LoopSession loop;
  make_iterator(loop, Dataset::range(10));
  testing::expect_error({"the loop has an iterator 'IteratorV2' already: give each a name of its own",
                         "'IteratorV2_1' has what an earlier version saved of this one"},
                        [&] { make_iterator(loop, Dataset::range(20)); });
  LoopSession named;
  make_iterator(named, Dataset::range(10));
  make_iterator(named, Dataset::range(20), "IteratorV2_1");
  EXPECT_EQ(detail::iterators(named.graph()).at(1).state_name(), "IteratorV2_1-state");
}

TEST(LoopIterator, BeginsAgainWithAnotherSession) {
  LoopSession loop;
  Iterator& numbers = make_iterator(loop, Dataset::range(10));
  loop.open();
  EXPECT_EQ(next(numbers), 0);
  loop.close();
  loop.open();
  EXPECT_EQ(next(numbers), 0);
}

}  // namespace
}  // namespace trainhook
