// SPDX-License-Identifier: Apache-2.0
/// @file
/// NanTensorHook: what it takes for diverged, and what it does about it.
#include <trainhook/hooks/nan_tensor_hook.hpp>

#include <limits>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include <trainhook/testing/run_steps.hpp>

#include "training_double.hpp"

namespace trainhook {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

struct Watched : support::Process {
  Tensor loss = Tensor(1.0F);
  Tensor norms = Tensor::of<double>({1, 2, 3});
  Output loss_output = script.value("loss", [this] { return loss; });
  Output norms_output = script.value(
      "norms", [this] { return norms; }, DType::Double, Shape{3});
};

TEST(NanTensorHook, AcceptsOneOrSeveralByHandleOrName) {
  Watched training;
  training.add(NanTensorHook("loss"));
  training.add(NanTensorHook(training.loss_output));
  training.add(NanTensorHook({training.loss_output, "norms:0"}));
  training.add(NanTensorHook(training.loss_output, {.fail_on_nan_loss = false}));
  training.start();
  training.run();
  EXPECT_THROW(NanTensorHook(FetchRefs{}), InvalidArgumentError);
}

TEST(NanTensorHook, X36_FailsTheRun) {
  support::LogLines log;
  Watched training;
  NanTensorHook& hook = training.add(NanTensorHook("loss"));
  training.start();
  training.run();
  training.loss = Tensor(kNan);
  try {
    training.run();
    FAIL();
  } catch (const NanLossDuringTrainingError& error) {
    EXPECT_EQ(error.code(), ErrorCode::FailedPrecondition);
    EXPECT_NE(std::string(error.what()).find("NaN loss during training: tensor 'loss' is NaN or infinite"),
              std::string::npos)
        << error.what();
  }
  EXPECT_TRUE(hook.veto_save().has_value());
  EXPECT_EQ(log.count("E Model diverged with loss = NaN"), 1U);
}

TEST(NanTensorHook, X36_EndIsNotCalled) {
  support::LogLines log;
  testing::Script script;
  NanTensorHook hook(script.value("loss", [] { return kNan; }));
  const auto trace = std::make_shared<testing::Trace>();
  EXPECT_THROW(testing::run_steps(hook, {.steps = 3, .script = &script, .trace = trace}), NanLossDuringTrainingError);
  const std::string& lines = trace->lines();
  EXPECT_TRUE(lines.starts_with("begin\nafter_create_session\nbefore_run 0\nafter_run 0\non_run_failed 0: ")) << lines;
  EXPECT_EQ(lines.find("\nend\n"), std::string::npos) << lines;
  EXPECT_NE(lines.find("\nabort: "), std::string::npos) << lines;
}

TEST(NanTensorHook, X37_TheRunReturnsAndEndIsCalled) {
  support::LogLines log;
  testing::Script script;
  float loss = 1;
  NanTensorHook hook(script.value("loss", [&] { return loss; }), {.fail_on_nan_loss = false});
  const testing::Trace trace = testing::run_steps(
      hook, {.steps = 5, .script = &script, .before_step = [&](std::int64_t step) { loss = step == 1 ? kNan : 1; }});
  EXPECT_EQ(trace.lines(), "begin\nafter_create_session\nbefore_run 0\nafter_run 0\nbefore_run 1\nafter_run 1\nend\n");
  EXPECT_EQ(log.count("W Model diverged with loss = NaN"), 1U);
}

TEST(NanTensorHook, X37_StopsWithoutFailing) {
  support::LogLines log;
  Watched training;
  training.add(NanTensorHook("loss", {.fail_on_nan_loss = false}));
  training.start();
  training.loss = Tensor(kNan);
  training.run();
  EXPECT_TRUE(training.should_stop());
  EXPECT_EQ(log.count("W Model diverged with loss = NaN"), 1U);
}

TEST(NanTensorHook, S23_SeesInfinityInAnyElementOfAnyTensor) {
  Watched training;
  training.add(NanTensorHook({"loss", "norms"}));
  training.start();
  training.loss = Tensor(-kInf);
  EXPECT_THROW(training.run(), NanLossDuringTrainingError);
  training.loss = Tensor(1.0F);
  training.run();
  training.norms = Tensor::of<double>({1, 2, std::numeric_limits<double>::infinity()});
  try {
    training.run();
    FAIL();
  } catch (const NanLossDuringTrainingError& error) {
    EXPECT_NE(std::string(error.what()).find("'norms' is NaN or infinite (element 2 of float64[3])"), std::string::npos)
        << error.what();
  }
}

TEST(NanTensorHook, S13_S23_VetoesSavesUntilARunIsGoodAgain) {
  Watched training;
  NanTensorHook& hook = training.add(NanTensorHook("loss", {.fail_on_nan_loss = false}));
  EXPECT_EQ(hook.phase(), HookPhase::Check);
  training.start();
  training.run();
  EXPECT_EQ(training.services.save_veto(), std::nullopt);
  training.loss = Tensor(kNan);
  training.run();
  EXPECT_EQ(training.services.save_veto(), "tensor 'loss' is NaN or infinite");
  training.loss = Tensor(1.0F);
  training.create();
  EXPECT_EQ(hook.veto_save(), std::nullopt) << "a restored model is as good as its checkpoint";
}

TEST(NanTensorHook, RefusesWhatCanNeverBeNan) {
  Watched training;
  training.script.value(
      "count", [] { return Tensor(std::int64_t{1}); }, DType::Int64);
  training.add(NanTensorHook("count"));
  try {
    training.start();
    FAIL();
  } catch (const InvalidArgumentError& error) {
    EXPECT_NE(std::string(error.what()).find("'count:0' is int64, which is never NaN"), std::string::npos)
        << error.what();
  }
}

TEST(NanTensorHook, NamesWhatItDoesNotFind) {
  Watched training;
  training.add(NanTensorHook("lsos"));
  EXPECT_THROW(training.begin(), NotFoundError);
}

}  // namespace
}  // namespace trainhook
