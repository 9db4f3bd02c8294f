// SPDX-License-Identifier: Apache-2.0
/// @file
/// State that is bound to the memory of a user.
#include <trainhook/loop/bound_state.hpp>

#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace trainhook {
namespace {

/// States that write down what is done to them; `refuse` makes one of them fail when it is loaded.
class BoundStateTest : public ::testing::Test {
 protected:
  void add(const std::string& name, bool may_fail) {
    state.add({.name = name,
               .dtype = DType::String,
               .shape = Shape{},
               .save =
                   [this, name] {
                     saved += name + "\n";
                     return Tensor(name + " before");
                   },
               .prepare = [this, name](const Tensor& value) -> std::function<void()> {
                 const std::string text = value.data<std::string>()[0];
                 if (text == "bad") throw DataLossError("{} is bad", name);
                 return [this, name, text] {
                   trace += name + " = " + text + "\n";
                   if (name == refuse && text == "new") throw AbortedError("{} refuses", name);
                 };
               },
               .reset = [this, name] { trace += name + " begins again\n"; },
               .may_fail = may_fail});
  }
  void load(std::vector<NamedTensor> entries) { state.load(entries); }

  detail::BoundState state;
  std::string trace;
  std::string saved;
  std::string refuse;
};

TEST_F(BoundStateTest, LoadsInTheOrderOfRegistration) {
  add("plain", false);
  add("a", true);
  add("b", true);
  load({{"b", Tensor("new")}, {"plain", Tensor("new")}, {"a", Tensor("new")}});
  EXPECT_EQ(trace, "plain = new\na = new\nb = new\n");
}

TEST_F(BoundStateTest, TakesBackWhatWasLoadedBeforeARefusalWhicheverRefuses) {
  add("plain", false);
  add("a", true);
  add("b", true);
  add("last", false);
  const std::vector<NamedTensor> entries = {
      {"plain", Tensor("new")}, {"a", Tensor("new")}, {"b", Tensor("new")}, {"last", Tensor("new")}};
  refuse = "a";
  EXPECT_THROW(load(entries), AbortedError);
  EXPECT_EQ(trace, "plain = new\na = new\na = a before\nplain = plain before\n");
  trace.clear();
  refuse = "b";
  EXPECT_THROW(load(entries), AbortedError);
  EXPECT_EQ(trace, "plain = new\na = new\nb = new\nb = b before\na = a before\nplain = plain before\n");
}

TEST_F(BoundStateTest, KeepsOldValuesOnlyUpToTheLastThatMayFail) {
  add("before", false);
  add("may fail", true);
  add("after", false);
  load({{"before", Tensor("new")}, {"may fail", Tensor("new")}, {"after", Tensor("new")}});
  EXPECT_EQ(saved, "before\nmay fail\n");
}

TEST_F(BoundStateTest, CommitsNothingIfOneEntryIsBad) {
  add("a", false);
  add("b", false);
  EXPECT_THROW(load({{"a", Tensor("new")}, {"b", Tensor("bad")}}), DataLossError);
  EXPECT_THROW(load({{"a", Tensor("new")}, {"b", Tensor(1.0F)}}), InvalidArgumentError);
  EXPECT_THROW(load({{"a", Tensor("new")}, {"c", Tensor("new")}}), NotFoundError);
  EXPECT_EQ(trace, "");
}

TEST_F(BoundStateTest, LoadsAPartAndLeavesTheRest) {
  add("a", false);
  add("b", false);
  load({{"b", Tensor("new")}});
  load({});
  EXPECT_EQ(trace, "b = new\n");
}

TEST_F(BoundStateTest, RefusesASecondStateOfOneName) {
  add("a", false);
  EXPECT_THROW(add("a", false), InvalidArgumentError);
  EXPECT_EQ(state.specs().size(), 1U);
}

TEST_F(BoundStateTest, BeginsAgainWithWhatAsksForIt) {
  add("a", false);
  state.begin_again();
  EXPECT_EQ(trace, "a begins again\n");
  EXPECT_EQ(state.uninitialized(), nullptr) << "only variables need a value";
}

TEST_F(BoundStateTest, NamesWhatItDoesNotHave) { EXPECT_THROW((void)state.save("weights"), NotFoundError); }

}  // namespace
}  // namespace trainhook
