// SPDX-License-Identifier: Apache-2.0
/// @file
/// LoopSession: registration, steps, fetches, snapshots, loading.
#include <trainhook/loop/loop_session.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/events/event_reader.hpp>
#include <trainhook/events/summary.hpp>
#include <trainhook/graph/global_step.hpp>
#include <trainhook/graph/ops/constant.hpp>
#include <trainhook/graph/ops/control_flow.hpp>
#include <trainhook/graph/ops/summary.hpp>
#include <trainhook/session/session_ref.hpp>
#include <trainhook/testing/log_lines.hpp>

#include "allocations.hpp"
#include "as_defined.hpp"

namespace trainhook {
namespace {

static_assert(SessionLike<LoopSession>);

// What must not compile: references to what would be gone, and to what cannot be written.
template <class M>
concept TakesVariable = requires(LoopSession& loop, M&& memory) { loop.variable("w", std::forward<M>(memory)); };
template <class T>
concept TakesState = requires(LoopSession& loop, T&& object) { loop.state("s", std::forward<T>(object)); };
static_assert(TakesVariable<std::vector<float>&> && !TakesVariable<std::vector<float>> &&
              !TakesVariable<const std::vector<float>&>);
static_assert(TakesVariable<std::span<float>> && TakesVariable<std::span<float, 3>&> &&
              !TakesVariable<std::span<const float>>);
static_assert(TakesVariable<double&> && !TakesVariable<double> && !TakesVariable<std::vector<bool>&> &&
              !TakesVariable<std::string&>);
static_assert(TakesState<std::mt19937_64&> && !TakesState<std::mt19937_64> && !TakesState<const std::mt19937_64&> &&
              !TakesState<int*&>);

std::vector<std::string> names_of(LoopSession& loop) {
  std::vector<std::string> names;
  for (const StateSpec& spec : loop.state()) names.push_back(spec.name);
  return names;
}

NamedTensor only(LoopSession& loop, const std::string& name) {
  std::vector<NamedTensor> entries = loop.snapshot(std::vector{name});
  return entries.at(0);
}

void load(LoopSession& loop, std::vector<NamedTensor> entries) { loop.load(entries); }

template <class E, class Body>
std::string message_of(Body body) {
  try {
    body();
  } catch (const E& error) { return error.what(); } catch (...) {
    return "another exception: " + describe(std::current_exception());
  }
  return "no exception";
}

TEST(LoopSession, RunsTheStepAndCountsIt) {
  LoopSession loop;
  int calls = 0;
  loop.run([&] { ++calls; });
  EXPECT_EQ(loop.run([&] { return ++calls * 10; }), 20);
  EXPECT_EQ(loop.global_step(), 2);
  EXPECT_EQ(loop.run("global_step"), Tensor(std::int64_t{2}));
}

TEST(LoopSession, DoesNotCountAStepThatThrew) {
  LoopSession loop;
  EXPECT_THROW(loop.run([] { throw std::domain_error("no"); }), std::domain_error);
  EXPECT_EQ(loop.global_step(), 0);
  loop.run([] {});
  EXPECT_EQ(loop.global_step(), 1);
}

TEST(LoopSession, DoesNotCountARunWithoutAStep) {
  LoopSession loop;
  loop.value("loss", [] { return 1.0F; });
  (void)loop.run("loss");
  EXPECT_EQ(loop.global_step(), 0);
}

TEST(LoopSession, CountsAStepThatReturnedEvenIfAValueThrewAfterwards) {
  LoopSession loop;
  std::vector<float> weights{0};
  loop.variable("weights", weights);
  const Output bad = loop.value("bad", []() -> float { throw std::domain_error("no"); });
  const Fetch fetch(bad);
  Tensor result;
  const auto step = [&] { weights[0] = 1; };
  EXPECT_THROW(loop.execute({.fetches = {&fetch, 1}, .step = step}, {&result, 1}), std::domain_error);
  EXPECT_EQ(loop.global_step(), 1) << "the weights have changed, so the step is done";
}

TEST(LoopSession, FetchesValuesAfterTheStepAndTheGlobalStepBeforeIt) {
  LoopSession loop;
  std::vector<float> weights{1, 2};
  float loss = 0;
  const Variable variable = loop.variable("weights", weights);
  const Output value = loop.value("loss", [&] { return loss; });
  const Output stale = *get_or_create_global_step_read(loop.graph());
  const std::array fetches{Fetch(variable), Fetch(value), Fetch(stale), Fetch(loop.graph().output("global_step/read"))};
  std::array<Tensor, 4> results;
  const auto step = [&] {
    weights = {3, 4};
    loss = 5;
  };
  loop.execute({.fetches = fetches, .step = step}, results);
  EXPECT_EQ(results[0], Tensor::of<float>({3, 4}));
  EXPECT_EQ(results[1], Tensor(5.0F));
  EXPECT_EQ(results[2], Tensor(std::int64_t{0}));
  EXPECT_EQ(results[3], Tensor(std::int64_t{0}));
  EXPECT_EQ(loop.run(stale), Tensor(std::int64_t{1}));
}

TEST(LoopSession, CallsAValueOnceARunHoweverManyAskForIt) {
  LoopSession loop;
  int calls = 0;
  const Output value = loop.value("count", [&] { return ++calls; });
  const auto [first, second] = loop.run({value, value});
  EXPECT_EQ(first, Tensor(1));
  EXPECT_EQ(second, Tensor(1));
  EXPECT_EQ(loop.run(value), Tensor(2));
}

TEST(LoopSession, GivesValuesOfManyTypes) {
  LoopSession loop;
  const std::array<double, 2> pair{1.5, 2.5};
  loop.value("text", [] { return std::string("hello"); });
  loop.value("list", [&]() -> const std::array<double, 2>& { return pair; });
  loop.value("view", [&] { return std::span<const double>(pair); });
  loop.value("tensor", [] { return Tensor::of<float>({1, 2, 3, 4}, {2, 2}); }, {DType::Float, PartialShape{-1, 2}});
  loop.value("flag", [] { return true; });
  EXPECT_EQ(loop.run("text"), Tensor("hello"));
  EXPECT_EQ(loop.run("list"), Tensor::of<double>({1.5, 2.5}));
  EXPECT_EQ(loop.run("view"), Tensor::of<double>({1.5, 2.5}));
  EXPECT_EQ(loop.run("tensor"), Tensor::of<float>({1, 2, 3, 4}, {2, 2}));
  EXPECT_EQ(loop.run("flag"), Tensor(true));
  EXPECT_EQ(loop.graph().output("list").shape(), PartialShape{2});
}

TEST(LoopSession, GivesASummaryThatAFunctionEncodes) {
  LoopSession loop;
  loop.value("note", [] { return 1.0F; });
  std::string note;
  int calls = 0;
  const Output notes = loop.summary("note", [&](std::string_view tag) {
    ++calls;
    return text_summary(tag, note);
  });
  loop.run([&] { note = "*first*"; });
  EXPECT_EQ(calls, 0);
  EXPECT_EQ(loop.run(*summary::merge_all(loop.graph())), Tensor(text_summary("note", "*first*")));
  loop.run([&] { note = "second"; });
  EXPECT_EQ(loop.run(notes), Tensor(text_summary("note", "second")));
  EXPECT_EQ(calls, 2);
  EXPECT_THROW(loop.summary("none", nullptr), InvalidArgumentError);
  loop.open();
  EXPECT_THROW(loop.summary("late", [](std::string_view) { return std::string(); }), FailedPreconditionError);
}

TEST(LoopSession, ASummaryKeepsTheTagThatItWasGivenUnlessAnotherSummaryHasIt) {
  LoopSession loop;
  const Output loss = loop.value("loss", [] { return 0.5F; });
  const auto tag_of = [&](const Output& output) {
    return parse_summary(loop.run(output).data<std::string>()[0]).at(0).tag;
  };
  const auto encode = [](std::string_view tag) { return text_summary(tag, "note"); };
  EXPECT_EQ(tag_of(summary::scalar("loss", loss)), "loss");
  EXPECT_EQ(tag_of(loop.summary("loss", encode)), "loss_1");
  EXPECT_EQ(tag_of(loop.summary("the loss", encode)), "the_loss");
  const Graph::Scope scope = loop.graph().name_scope("inner");
  EXPECT_EQ(tag_of(summary::scalar("loss", loop.value("loss", [] { return 1.5F; }))), "inner/loss");
  EXPECT_EQ(tag_of(loop.summary("loss", encode)), "inner/loss_1");
}

TEST(LoopSession, ShowsSeveralStringsAsTexts) {
  LoopSession loop;
  const Tensor words = Tensor::of<std::string>({"one", "two"});
  const Output value = loop.value(
      "note", [&] { return words; }, OutputSpec{DType::String, PartialShape{kUnknownDim}});
  const Output notes = summary::text("notes", value);
  const Tensor summary = loop.run(notes);
  EXPECT_EQ(summary, Tensor(detail::texts_summary("notes", words)));
  EXPECT_NE(summary.scalar<std::string>().find("two"), std::string::npos);
}

TEST(LoopSession, ShowsAStringOfTheUserAsText) {
  LoopSession loop;
  std::string note = "*first*";
  const Output notes = summary::text("notes", loop.value("note", [&]() -> const std::string& { return note; }));
  EXPECT_EQ(loop.run(notes), Tensor(text_summary("notes", "*first*")));
  loop.run([&] { note = "second"; });
  EXPECT_EQ(loop.run(notes), Tensor(text_summary("notes", "second")));
}

TEST(LoopSession, KnowsTheShapeOfAValueWhoseTypeTellsIt) {
  LoopSession loop;
  std::array<float, 3> three{1, 2, 3};
  auto shape_of = [&loop, number = 0](auto function) mutable {
    return loop.value("value" + std::to_string(number++), function).shape();
  };
  EXPECT_EQ(shape_of([=] { return three; }), PartialShape{3});
  EXPECT_EQ(shape_of([&]() -> const std::array<float, 3>& { return three; }), PartialShape{3});
  EXPECT_EQ(shape_of([&] { return std::span<const float, 3>(three); }), PartialShape{3});
  EXPECT_EQ(shape_of([&] { return std::span<const float>(three); }), PartialShape{kUnknownDim});
  EXPECT_EQ(shape_of([] { return std::vector<float>{1}; }), PartialShape{kUnknownDim});
  EXPECT_EQ(shape_of([] { return 1.0F; }), PartialShape(Shape{}));
}

TEST(LoopSession, TakesAFedValueInPlaceOfItsFunctionForOneRun) {
  LoopSession loop;
  const Output rate = loop.value("rate", [] { return 0.5F; });
  EXPECT_EQ(loop.run(rate, {{rate, 0.25F}}), Tensor(0.25F));
  EXPECT_EQ(loop.run(rate), Tensor(0.5F));
}

TEST(LoopSession, RefusesFeedsOfAnythingElse) {
  LoopSession loop;
  std::vector<float> weights(2);
  const Variable variable = loop.variable("weights", weights);
  const Output rate = loop.value("rate", [] { return 0.5F; });
  EXPECT_EQ(message_of<InvalidArgumentError>([&] {
              (void)loop.run(rate, {{variable.read, Tensor::of<float>({1, 2})}});
            }),
            "'weights/read:0' (Identity) cannot be fed; only what was registered with value() can");
  EXPECT_EQ(message_of<InvalidArgumentError>([&] {
              (void)loop.run(rate, {{rate, 1.0}});
            }),
            "'rate:0' is float32[] and was fed float64[]");
  EXPECT_EQ(loop.run(rate), Tensor(0.5F));
}

TEST(LoopSession, PutsVariablesIntoTheGraphAsTensorFlowHasThem) {
  LoopSession loop;
  std::vector<float> weights(6);
  const Variable variable = loop.variable("weights", weights, {.shape = {2, -1}});
  EXPECT_EQ(variable.handle.type(), "VariableV2");
  EXPECT_EQ(variable.read.name(), "weights/read:0");
  EXPECT_EQ(variable.shape(), (PartialShape{2, 3}));
  EXPECT_EQ(global_variables(loop.graph()).back(), variable);
  EXPECT_EQ(trainable_variables(loop.graph()), std::vector{variable});
  EXPECT_EQ(loop.graph().operation("global_step").type(), "VariableV2");
  EXPECT_EQ(support::nodes_unlike_their_definition(loop.graph()), "");
}

TEST(LoopSession, KeepsVariablesThatAreNotTrainableOutOfTheirCollection) {
  LoopSession loop;
  float rate = 0.1F;
  loop.variable("rate", rate, {.trainable = false});
  EXPECT_TRUE(trainable_variables(loop.graph()).empty());
  EXPECT_EQ(global_variables(loop.graph()).size(), 2U);
}

TEST(LoopSession, ListsItsStateWithKinds) {
  LoopSession loop;
  std::vector<float> weights(2);
  std::mt19937_64 noise;
  loop.variable("weights", weights);
  loop.state("noise", noise);
  std::string lines;
  for (const StateSpec& spec : loop.state()) {
    lines += fmt::format("{} {} {}{}\n", spec.name, spec.kind == StateKind::Variable ? "variable" : "auxiliary",
                         dtype_name(spec.dtype), spec.shape);
  }
  EXPECT_EQ(
      lines,
      "weights variable float32[2]\nglobal_step variable int64[]\n_trainhook/state/noise auxiliary string<unknown>\n");
}

TEST(LoopSession, SnapshotsAndLoadsEverything) {
  LoopSession loop;
  std::vector<float> weights{1, 2};
  std::array<std::int32_t, 2> counts{3, 4};
  double rate = 0.5;
  bool done = true;
  std::mt19937_64 noise(7);
  loop.variable("weights", weights);
  loop.variable("counts", counts);
  loop.variable("rate", rate);
  loop.variable("done", done);
  loop.state("noise", noise);
  loop.run([] {});
  const std::vector<NamedTensor> saved = loop.snapshot(names_of(loop));
  const auto next = noise();

  weights = {0, 0};
  counts = {0, 0};
  rate = 0;
  done = false;
  loop.run([] {});
  loop.load(saved);
  EXPECT_EQ(weights, (std::vector<float>{1, 2}));
  EXPECT_EQ(counts, (std::array<std::int32_t, 2>{3, 4}));
  EXPECT_EQ(rate, 0.5);
  EXPECT_TRUE(done);
  EXPECT_EQ(noise(), next);
  EXPECT_EQ(loop.global_step(), 1);
}

TEST(LoopSession, KeepsASnapshotUnchangedWhileTrainingContinues) {
  LoopSession loop;
  std::vector<float> weights{1, 2};
  loop.variable("weights", weights);
  const NamedTensor first = only(loop, "weights");
  weights = {3, 4};
  const NamedTensor second = only(loop, "weights");
  (void)loop.run("weights");
  EXPECT_EQ(first.tensor, Tensor::of<float>({1, 2}));
  EXPECT_EQ(second.tensor, Tensor::of<float>({3, 4}));
}

TEST(LoopSession, UsesTheSameStagingMemoryOnceASnapshotIsGone) {
  LoopSession loop;
  std::vector<float> weights(1000);
  loop.variable("weights", weights);
  const void* first = only(loop, "weights").tensor.bytes().data();
  const void* second = only(loop, "weights").tensor.bytes().data();
  EXPECT_EQ(first, second);
  const Tensor held = loop.run("weights");
  EXPECT_EQ(static_cast<const void*>(held.bytes().data()), first);
  EXPECT_NE(static_cast<const void*>(only(loop, "weights").tensor.bytes().data()), first);
}

TEST(LoopSession, ChecksEverythingBeforeItLoadsAnything) {
  LoopSession loop;
  std::vector<float> weights{1, 2};
  std::mt19937_64 noise(7);
  const std::mt19937_64 before = noise;
  loop.variable("weights", weights);
  loop.state("noise", noise);
  std::mt19937_64 other(8);
  const NamedTensor good_weights{"weights", Tensor::of<float>({9, 9})};
  const NamedTensor good_noise{"_trainhook/state/noise", detail::save_streamed("noise", other)};
  const NamedTensor step{"global_step", Tensor(std::int64_t{9})};
  const auto try_load = [&](std::vector<NamedTensor> entries) {
    std::string message = message_of<Error>([&] { load(loop, std::move(entries)); });
    EXPECT_EQ(weights, (std::vector<float>{1, 2}));
    EXPECT_EQ(noise, before);
    EXPECT_EQ(loop.global_step(), 0);
    return message;
  };
  EXPECT_EQ(try_load({good_weights, good_noise, {"global_step", Tensor(1.0F)}}),
            "'global_step' is int64[] and cannot take float32[]");
  EXPECT_EQ(try_load({step, good_noise, {"weights", Tensor::of<float>({1, 2, 3})}}),
            "'weights' is float32[2] and cannot take float32[3]");
  EXPECT_EQ(try_load({step, good_weights, {"_trainhook/state/noise", Tensor("1 2 three")}}),
            "the saved state '_trainhook/state/noise' is not what its type writes");
  EXPECT_EQ(try_load({good_weights, good_noise, step, {"bias", Tensor(1.0F)}}),
            "the loop has no variable or state 'bias'");
  EXPECT_EQ(try_load({good_weights, step, good_weights}), "'weights' is given twice");
  weights.push_back(3);
  EXPECT_THROW(load(loop, {step, good_weights}), FailedPreconditionError);
  EXPECT_EQ(loop.global_step(), 0);
}

TEST(LoopSession, LoadsAndGivesVariablesInAnyOrder) {
  LoopSession loop;
  float a = 1, b = 2, c = 3;
  loop.variable("a", a);
  loop.variable("b", b);
  loop.variable("c", c);
  load(loop, {{"c", Tensor(30.0F)}, {"a", Tensor(10.0F)}});
  EXPECT_EQ((std::vector<float>{a, b, c}), (std::vector<float>{10, 2, 30}));
  load(loop, {{"b", Tensor(20.0F)}, {"c", Tensor(31.0F)}, {"a", Tensor(11.0F)}});
  EXPECT_EQ((std::vector<float>{a, b, c}), (std::vector<float>{11, 20, 31}));
  const auto value = [&loop](std::string_view name) { return loop.saved_value(name).data<float>()[0]; };
  EXPECT_EQ(value("b"), 20);
  EXPECT_EQ(value("a"), 11);
  EXPECT_EQ(value("b"), 20);
  EXPECT_EQ(value("c"), 31);
}

TEST(LoopSession, TakesBackWhatWasLoadedIfThatChangesTheMemoryOfAnother) {
  LoopSession loop;
  std::vector<float> weights{1, 2};
  float scale = 3;
  loop.variable("weights", weights);
  const auto write = [&](std::span<const std::byte> bytes) {
    std::memcpy(&scale, bytes.data(), sizeof scale);
    weights.resize(scale == 9 ? 3 : 2);
  };
  loop.variable("scale", {.dtype = DType::Float,
                          .shape = {},
                          .read = [&](std::span<std::byte> bytes) { std::memcpy(bytes.data(), &scale, sizeof scale); },
                          .write = write});
  EXPECT_THROW(load(loop, {{"weights", Tensor::of<float>({8, 8})}, {"scale", Tensor(9.0F)}}), FailedPreconditionError);
  EXPECT_EQ(scale, 3);
  EXPECT_EQ(weights, (std::vector<float>{1, 2}));
}

TEST(LoopSession, TakesBackWhatWasLoadedIfALoaderRefuses) {
  LoopSession loop;
  std::vector<float> weights{1, 2};
  std::string trace;
  std::string a = "a0";
  loop.variable("weights", weights);
  loop.state(
      "a", [&] { return a; }, [&](const std::string& saved) { trace += "a takes " + saved + "\n", a = saved; });
  loop.state(
      "b", [] { return std::string("b0"); },
      [&](const std::string& saved) {
        trace += "b takes " + saved + "\n";
        if (saved == "bad") throw std::invalid_argument("that is not a b");
      });
  try {
    load(loop, {{"weights", Tensor::of<float>({9, 9})},
                {"_trainhook/state/a", Tensor("a1")},
                {"_trainhook/state/b", Tensor("bad")}});
    ADD_FAILURE() << "it was loaded";
  } catch (const std::invalid_argument& error) {  // not a DataLossError: it says nothing about the checkpoint
    EXPECT_STREQ(error.what(), "the load function of state '_trainhook/state/b' threw: that is not a b");
  }
  EXPECT_EQ(trace, "a takes a1\nb takes bad\nb takes b0\na takes a0\n");
  EXPECT_EQ(a, "a0");
  EXPECT_EQ(weights, (std::vector<float>{1, 2}));
}

TEST(LoopSession, NamesAVectorThatChangedItsSize) {
  LoopSession loop;
  std::vector<float> weights(2);
  const Variable variable = loop.variable("weights", weights);
  weights.push_back(1);
  const std::string expected =
      "variable 'weights' had shape [2] when it was registered and has [3] now; its memory must keep its size as long "
      "as the session lives, or, for the number of rows, be registered with {.resizable = true}";
  EXPECT_EQ(message_of<FailedPreconditionError>([&] { (void)only(loop, "weights"); }), expected);
  EXPECT_EQ(message_of<FailedPreconditionError>([&] { (void)loop.run(variable); }), expected);
  const std::vector<float> moved = std::move(weights);
  weights.clear();
  EXPECT_THROW((void)only(loop, "weights"), FailedPreconditionError);
}

TEST(LoopSession, FollowsAVectorThatGotOtherMemoryOfTheSameSize) {
  LoopSession loop;
  std::vector<float> weights{1, 2};
  loop.variable("weights", weights);
  std::vector<float> next{3, 4};
  std::swap(weights, next);
  EXPECT_EQ(only(loop, "weights").tensor, Tensor::of<float>({3, 4}));
  load(loop, {{"weights", Tensor::of<float>({5, 6})}});
  EXPECT_EQ(weights, (std::vector<float>{5, 6}));
}

TEST(LoopSession, ReachesOtherMemoryByReaderAndWriter) {
  LoopSession loop;
  std::array<float, 2> device{1, 2};
  loop.variable(
      "w", {.dtype = DType::Float,
            .shape = {2},
            .read = [&](std::span<std::byte> to) { std::memcpy(to.data(), device.data(), to.size()); },
            .write = [&](std::span<const std::byte> from) { std::memcpy(device.data(), from.data(), from.size()); }});
  EXPECT_EQ(loop.run("w"), Tensor::of<float>({1, 2}));
  load(loop, {{"w", Tensor::of<float>({3, 4})}});
  EXPECT_EQ(device, (std::array<float, 2>{3, 4}));
  EXPECT_THROW(loop.variable("x", {.dtype = DType::Float, .shape = {2}}), InvalidArgumentError);
}

TEST(LoopSession, KnowsOfWhichTensorAVariableIsAPart) {
  std::vector<double> rows(6);
  LoopSession loop;
  const Variable part =
      loop.variable("field", std::span(rows), {.shape = {2, 3}, .part_of = {.shape = {8, 3}, .offset = {4, 0}}});
  EXPECT_EQ(part.save_slice_info->full_name, "field");
  EXPECT_EQ(part.save_slice_info->spec(), "8 3 4,2:0,3");
  const Variable other =
      loop.variable("other", ExternalVariable{.dtype = DType::Double,
                                              .shape = {1},
                                              .read = [](std::span<std::byte>) {},
                                              .write = [](std::span<const std::byte>) {},
                                              .part_of = {.shape = {2}, .offset = {1}, .name = "both"}});
  EXPECT_EQ(other.save_slice_info->full_name, "both");
  EXPECT_TRUE(other.save_slice_info->is_own);
  EXPECT_EQ(loop.variable("plain", rows).save_slice_info, nullptr);
  try {
    loop.variable("beyond", rows, {.shape = {2, 3}, .part_of = {.shape = {8, 3}, .offset = {7, 0}}});
    FAIL();
  } catch (const InvalidArgumentError& error) {
    EXPECT_STREQ(error.what(),
                 "variable 'beyond' of shape [2,3] begins at 7 in dimension 0 of 'beyond', which has 8 there");
  }
  EXPECT_THROW(loop.variable("flat", rows, {.part_of = {.shape = {8, 3}, .offset = {0}}}), InvalidArgumentError);
  EXPECT_THROW(loop.variable("named", rows, {.part_of = {.name = "field"}}), InvalidArgumentError);
}

TEST(LoopSession, RefusesANameThatIsTaken) {
  LoopSession loop;
  std::vector<float> weights(2);
  float bias = 0;
  loop.variable("weights", weights);
  loop.state("bias", bias);
  EXPECT_EQ(message_of<InvalidArgumentError>([&] { loop.variable("weights", bias); }),
            "the loop already has something called 'weights'; give each its own name");
  EXPECT_THROW(loop.value("weights", [] { return 1; }), InvalidArgumentError);
  EXPECT_THROW(loop.value("weights/read", [] { return 1; }), InvalidArgumentError);
  EXPECT_THROW(loop.state("bias", bias), InvalidArgumentError);
  try {
    loop.variable("global_step", bias);
    ADD_FAILURE() << "it was taken";
  } catch (const InvalidArgumentError& error) {
    EXPECT_STREQ(error.what(),
                 "the loop counts its runs in 'global_step' itself: ask it for global_step(), and give yours another "
                 "name");
  }
  EXPECT_THROW(loop.variable("no good", bias), InvalidArgumentError);
  EXPECT_THROW(loop.state("", bias), InvalidArgumentError);
}

TEST(LoopSession, EndsRegistrationWhenItIsOpened) {
  LoopSession loop;
  float bias = 0;
  loop.open();
  EXPECT_EQ(message_of<FailedPreconditionError>([&] { loop.variable("bias", bias); }),
            "'bias' comes too late: the loop's session was made; register everything before");
  EXPECT_THROW(loop.state("bias", bias), FailedPreconditionError);
  EXPECT_THROW(loop.value("bias", [] { return 1; }), FailedPreconditionError);
  EXPECT_THROW(loop.init([] {}), FailedPreconditionError);
}

TEST(LoopSession, HasOneSessionAtATime) {
  LoopSession loop;
  loop.open();
  EXPECT_THROW(loop.open(), FailedPreconditionError);
  loop.close();
  loop.close();
  EXPECT_THROW(loop.run([] {}), FailedPreconditionError);
  loop.open();
  loop.run([] {});
  EXPECT_EQ(loop.global_step(), 1);
}

TEST(LoopSession, TakesTheMemoryAsItIsForTheInitialValueOfTheFirstSession) {
  LoopSession loop;
  std::vector<float> weights{1, 2};
  loop.variable("weights", weights);
  const Operation init = group(loop.graph(), {loop.graph().operation("global_step/Assign")}, "init");
  loop.open();
  loop.run(init);
  EXPECT_EQ(weights, (std::vector<float>{1, 2}));
  EXPECT_TRUE(loop.state()[0].initialized);
}

TEST(LoopSession, CannotBeginAgainWithoutCheckpointOrInitFunction) {
  LoopSession loop;
  std::vector<float> weights{1, 2};
  loop.variable("weights", weights);
  const Operation init = group(loop.graph(), {loop.graph().operation("global_step/Assign")}, "init");
  loop.open();
  loop.run(init);
  loop.close();
  loop.open();
  EXPECT_FALSE(loop.state()[0].initialized);
  EXPECT_EQ(
      message_of<FailedPreconditionError>([&] { loop.run(init); }),
      "the loop's last session is gone and there is no checkpoint to resume from, so 'weights' has no known value; "
      "register initial values with init(), or give a checkpoint_dir");
  load(loop, {{"weights", Tensor::of<float>({5, 6})}});
  EXPECT_TRUE(loop.state()[0].initialized);
}

TEST(LoopSession, BeginsAgainByItsInitFunction) {
  LoopSession loop;
  std::vector<float> weights(2);
  loop.variable("weights", weights);
  loop.init([&] { weights = {7, 8}; });
  const Operation init = group(loop.graph(), {loop.graph().operation("global_step/Assign")}, "init");
  loop.open();
  loop.run(init);
  EXPECT_EQ(weights, (std::vector<float>{7, 8}));
  loop.run([&] { weights = {0, 0}; });
  loop.close();
  loop.open();
  loop.run(init);
  EXPECT_EQ(weights, (std::vector<float>{7, 8}));
  EXPECT_EQ(loop.global_step(), 0);
  EXPECT_TRUE(loop.state()[0].initialized);
}

TEST(LoopSession, TellsATracedRunHowLongTheStepTookAtEveryTraceLevel) {
  LoopSession loop;
  const auto step = [] {};
  for (const TraceLevel level : {TraceLevel::Software, TraceLevel::Hardware, TraceLevel::Full}) {
    const RunOptions options{.trace_level = level};
    RunMetadata metadata;
    for (int i = 0; i < 2; ++i) loop.execute({.options = &options, .metadata = &metadata, .step = step}, {});
    ASSERT_EQ(metadata.node_stats.size(), 1U);
    EXPECT_EQ(metadata.node_stats[0].node_name, "step");
    EXPECT_LE(metadata.node_stats[0].start_micros, metadata.node_stats[0].end_micros);
  }
}

/// A loop with a variable, a value that is computed from it, and the runs that are made inside a run.
struct NestedRuns {
  LoopSession loop;
  float weight = 1;
  Variable variable = loop.variable("weight", weight);
  Output twice = loop.value("twice", [this] { return 2 * weight; });
  Output fed = loop.value("fed", [] { return 0.0F; });
  Output step = *get_or_create_global_step_read(loop.graph());
};

TEST(LoopSession, ARunInsideAStepLeavesTheOuterRunAlone) {
  NestedRuns nested;
  float seen = 0;
  std::int64_t step_seen = -1;
  const auto body = [&] {
    nested.weight = 5;
    seen = nested.loop.run(nested.fed, {{nested.fed, 8.0F}}).scalar<float>();
    nested.loop.run([&] { nested.weight = 6; });
    step_seen = nested.loop.run(nested.step).scalar<std::int64_t>();
  };
  const std::array fetches{Fetch(nested.twice), Fetch(nested.fed), Fetch(nested.step), Fetch(nested.variable)};
  const std::array feeds{Feed{nested.fed, 7.0F}};
  std::array<Tensor, 4> results;
  nested.loop.execute({.fetches = fetches, .feed_dict = feeds, .step = body}, results);
  EXPECT_EQ(seen, 8);
  EXPECT_EQ(step_seen, 1);
  EXPECT_EQ(results[0].scalar<float>(), 12);
  EXPECT_EQ(results[1].scalar<float>(), 7) << "what was fed to the outer run";
  EXPECT_EQ(results[2].scalar<std::int64_t>(), 0) << "as it was before the outer step";
  EXPECT_EQ(results[3].scalar<float>(), 6);
  EXPECT_EQ(nested.loop.global_step(), 2);
}

TEST(LoopSession, ARunInsideAValueLeavesTheOuterRunAlone) {
  NestedRuns nested;
  int reads = 0;
  const Output counted = nested.loop.value("counted", [&] { return static_cast<float>(++reads); });
  const Output inner = nested.loop.value("inner", [&] {
    EXPECT_EQ(nested.loop.run(counted).scalar<float>(), 2);
    EXPECT_THROW(nested.loop.run(counted, {{counted, std::int64_t{1}}}), InvalidArgumentError);
    return 100 + nested.loop.run(nested.twice).scalar<float>();
  });
  const std::array<Tensor, 4> results = nested.loop.run({nested.twice, counted, inner, counted});
  EXPECT_EQ(results[0].scalar<float>(), 2);
  EXPECT_EQ(results[1].scalar<float>(), 1);
  EXPECT_EQ(results[2].scalar<float>(), 102);
  EXPECT_EQ(results[3].scalar<float>(), 1) << "read once in this run";
}

TEST(LoopSession, AllocatesNothingInTheSteadyState) {
  LoopSession loop;
  std::vector<float> weights(1000);
  float loss = 0;
  const Variable variable = loop.variable("weights", weights);
  const Output value = loop.value("loss", [&] { return loss; });
  const std::array fetches{Fetch(value), Fetch(variable), Fetch(*get_or_create_global_step_read(loop.graph()))};
  std::array<Tensor, 3> results;
  const auto step = [&] { loss += 1; };
  const auto run = [&] {
    loop.execute({.fetches = fetches, .step = step}, results);
    for (Tensor& result : results) result = Tensor();
  };
  run();
  run();
  const support::AllocationCount count;
  for (int i = 0; i < 10; ++i) run();
  EXPECT_EQ(count.so_far(), 0U);
}

TEST(LoopSession, AllocatesNothingInASaveOnceTheLastOneIsGone) {
  LoopSession loop;
  std::vector<float> weights(1000);
  loop.variable("weights", weights);
  const std::vector<std::string> names{"weights"};
  (void)loop.snapshot(names);
  const support::AllocationCount count;
  (void)loop.snapshot(names);
  EXPECT_LE(count.so_far(), 1U) << "the list itself";
}

TEST(LoopSession, WorksBehindASessionRef) {
  LoopSession loop;
  float loss = 2;
  loop.value("loss", [&] { return loss; });
  SessionRef session(loop);
  session.run([&] { loss = 3; });
  EXPECT_EQ(session.run("loss"), Tensor(3.0F));
  EXPECT_EQ(&session.as<LoopSession>(), &loop);
}

TEST(LoopSession, SaysWhichFunctionOfTheProgramThrew) {
  const testing::LogLines log;
  LoopSession loop;
  const auto broken = []() -> float { throw std::range_error("too far"); };
  const Output loss = loop.value("loss", broken);
  const Output text = loop.summary("text", [](std::string_view) -> std::string { throw std::range_error("too long"); });
  loop.init([] { throw std::range_error("no memory"); });
  SessionRef session(loop);
  try {
    static_cast<void>(session.run(loss));
    ADD_FAILURE() << "it ran";
  } catch (const std::range_error& error) { EXPECT_STREQ(error.what(), "the function of value 'loss' threw: too far"); }
  EXPECT_THROW(static_cast<void>(session.run(text)), std::range_error);
  EXPECT_THROW(session.run(get_global_step(loop.graph())->initializer), std::range_error);
  EXPECT_EQ(log.lines, (std::vector<std::string>{"E the function of value 'loss' threw: too far",
                                                 "E the function of summary 'text' threw: too long",
                                                 "E the function given to init() threw: no memory"}));
}

}  // namespace
}  // namespace trainhook
