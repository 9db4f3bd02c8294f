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
               .save = [name] { return Tensor(name + " before"); },
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
  std::string refuse;
};

TEST_F(BoundStateTest, LoadsWhatMayFailFirst) {
  add("sure", false);
  add("a", true);
  add("b", true);
  load({{"sure", Tensor("new")}, {"b", Tensor("new")}, {"a", Tensor("new")}});
  EXPECT_EQ(trace, "b = new\na = new\nsure = new\n");
}

TEST_F(BoundStateTest, TakesBackWhatWasLoadedBeforeARefusal) {
  add("sure", false);
  add("a", true);
  add("b", true);
  refuse = "a";
  EXPECT_THROW(load({{"sure", Tensor("new")}, {"b", Tensor("new")}, {"a", Tensor("new")}}), AbortedError);
  EXPECT_EQ(trace, "b = new\na = new\na = a before\nb = b before\n");
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
