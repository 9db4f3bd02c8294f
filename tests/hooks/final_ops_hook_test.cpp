// SPDX-License-Identifier: Apache-2.0
/// @file
/// FinalOpsHook: one tensor, several, by name, with feeds, and what happens when they fail.
#include <trainhook/hooks/final_ops_hook.hpp>

#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "training_double.hpp"

namespace trainhook {
namespace {

struct Finished : support::Process {
  support::LogLines log;

  std::shared_ptr<FinalOpsHook> finish(FinalOpsHook hook) {
    auto shared = std::make_shared<FinalOpsHook>(std::move(hook));
    add(shared);
    start();
    run(3);
    EXPECT_FALSE(shared->has_values());
    end();
    return shared;
  }
  Output constant(const std::string& name, const Tensor& value) {
    return script.value(
        name, [value] { return value; }, value.dtype(), value.shape());
  }
};

TEST(FinalOpsHook, B058_RunsAScalar) {
  Finished training;
  const auto hook = training.finish(FinalOpsHook(training.constant("four", Tensor(4.0F))));
  ASSERT_EQ(hook->final_ops_values().size(), 1U);
  EXPECT_EQ(hook->final_ops_values()[0].scalar<float>(), 4.0F);
}

TEST(FinalOpsHook, TakesOneElementInBraces) {
  Finished by_name;
  by_name.constant("four", Tensor(4.0F));
  EXPECT_EQ(by_name.finish(FinalOpsHook({"four"}))->final_ops_value("four").scalar<float>(), 4.0F);
  Finished tagged;
  EXPECT_EQ(tagged.finish(FinalOpsHook({{"hits", tagged.constant("five", Tensor(5.0F))}}))
                ->final_ops_value("hits")
                .scalar<float>(),
            5.0F);
}

TEST(FinalOpsHook, B059_RunsATensor) {
  Finished training;
  const Tensor list = Tensor::of<std::int32_t>({1, 6, 3, 5, 2, 4});
  training.constant("list", list);
  EXPECT_EQ(training.finish(FinalOpsHook("list"))->final_ops_values()[0], list);
}

TEST(FinalOpsHook, RunsSeveralInOneRunAndGivesThemByName) {
  Finished training;
  training.constant("a", Tensor(1.0F));
  training.constant("b", Tensor(2.0F));
  const auto hook = training.finish(FinalOpsHook({{"second", "b"}, {"first", "a"}, {"z", "nothing"}}));
  EXPECT_EQ(hook->final_ops_value("first").scalar<float>(), 1.0F);
  EXPECT_EQ(hook->final_ops_value("second").scalar<float>(), 2.0F);
  EXPECT_FALSE(hook->final_ops_value("z").has_value());
  EXPECT_THROW(static_cast<void>(hook->final_ops_value("third")), NotFoundError);
}

TEST(FinalOpsHook, B061_FeedsWhatItIsGiven) {
  Finished training;
  const Output fed =
      training.graph.add({.type = "Placeholder", .name = "fed", .outputs = {{DType::Int32, Shape{2}}}}).output();
  const Tensor value = Tensor::of<std::int32_t>({4, -3});
  const auto hook = training.finish(FinalOpsHook({{"value", fed}}, {.final_ops_feed_dict = {{fed, value}}}));
  EXPECT_EQ(hook->final_ops_value("value"), value);
}

TEST(FinalOpsHook, WarnsIfAFinalOpReadsTheInputThatHasEnded) {
  Finished training;
  training.script.value("input", []() -> Tensor { throw OutOfRangeError("end of sequence"); });
  auto hook = std::make_shared<FinalOpsHook>("input");
  training.add(hook);
  training.start();
  training.run();
  EXPECT_THROW(training.end(), OutOfRangeError);
  EXPECT_EQ(training.log.count("dependency back to some input source"), 1U);
  EXPECT_FALSE(hook->has_values());
}

TEST(FinalOpsHook, X52_OtherErrorsPassWithoutTheWarning) {
  Finished training;
  training.script.value("broken", []() -> Tensor { throw UnknownError("broken"); });
  training.add(FinalOpsHook("broken"));
  training.start();
  EXPECT_THROW(training.end(), UnknownError);
  EXPECT_TRUE(training.log.lines.empty());
}

TEST(FinalOpsHook, X52_WithoutFinalOpsDoesNothing) {
  Finished training;
  const auto hook = training.finish(FinalOpsHook());
  EXPECT_FALSE(hook->has_values());
  EXPECT_EQ(training.script.executes, 3);
}

TEST(FinalOpsHook, S25_ValuesAreClearedWhenASessionBegins) {
  auto hook = std::make_shared<FinalOpsHook>("a");
  for (int life = 0; life < 2; ++life) {
    Finished training;
    training.constant("a", Tensor(1.0F));
    training.add(hook);
    training.start();
    EXPECT_FALSE(hook->has_values());
    EXPECT_THROW(static_cast<void>(hook->final_ops_value("a")), FailedPreconditionError);
    training.end();
    EXPECT_TRUE(hook->has_values());
  }
}

TEST(FinalOpsHook, NamesOpsThatItDoesNotFindBeforeTraining) {
  Finished training;
  training.add(FinalOpsHook("accuracy"));
  EXPECT_THROW(training.begin(), NotFoundError);
}

}  // namespace
}  // namespace trainhook
