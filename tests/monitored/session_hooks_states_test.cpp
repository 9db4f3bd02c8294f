// SPDX-License-Identifier: Apache-2.0
/// @file
/// HookStates: names under which hooks' states are kept, and what becomes of those that no hook claims.
#include <trainhook/monitored/session_hooks.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <expect_error.hpp>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <trainhook/events/file_writer_cache.hpp>
#include <trainhook/session/hook_services.hpp>
#include <trainhook/session/second_or_step_timer.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/manual_clock.hpp>
#include <trainhook/testing/memory_file_system.hpp>

namespace trainhook {
namespace {

using detail::Hooks;
using detail::HookStates;

/// Counts; the second layout of its state has another unit.
struct CountingHook final : SessionRunHook {
  explicit CountingHook(std::int64_t start, std::string called = {}) : count(start), own_name(std::move(called)) {}
  std::string name() const override { return own_name; }
  StateValues save_state() override {
    StateValues values;
    values.version = 2;
    values.set("count", Tensor(count));
    return values;
  }
  void load_state(const StateValues& state) override {
    loaded_version = state.version;
    count = state.at("count").scalar<std::int64_t>();
  }
  std::int64_t count;
  std::string own_name;
  std::optional<int> loaded_version;
};
struct StatelessHook final : SessionRunHook {};

struct Services {
  testing::MemoryFileSystem disk;
  testing::ManualClock clock;
  FileWriterCache writers{{.file_system = &disk, .clock = &clock}};
  detail::SessionServices of_session{disk, clock, writers};
};

std::vector<std::string> names_of(const StateValues& values) {
  std::vector<std::string> names;
  for (const NamedTensor& entry : values.entries()) names.push_back(entry.name);
  return names;
}

TEST(HookStates, AreKeptUnderTheNameOfTheHookOrOfItsType) {
  Services services;
  const Hooks hooks = {std::make_shared<CountingHook>(1), std::make_shared<StatelessHook>(),
                       std::make_shared<StatelessHook>(), std::make_shared<CountingHook>(3, "mine")};
  HookStates states(hooks, services.of_session);
  EXPECT_EQ(states.name(), "_trainhook/hooks");
  EXPECT_EQ(names_of(states.save()),
            (std::vector<std::string>{"CountingHook/version", "CountingHook/count", "mine/version", "mine/count"}));
}

/// Has state, and a type whose name is full of colons and brackets.
template <class T>
struct TypedHook final : SessionRunHook {
  StateValues save_state() override {
    StateValues values;
    values.set("size", Tensor(static_cast<std::int64_t>(sizeof(T))));
    return values;
  }
};

TEST(HookStates, TheNameOfATypeIsWithoutItsScopesAndTemplateArguments) {
  Services services;
  struct LocalHook final : SessionRunHook {
    StateValues save_state() override { return TypedHook<int>().save_state(); }
  };
  const Hooks hooks = {std::make_shared<TypedHook<std::vector<std::string>>>(), std::make_shared<LocalHook>()};
  EXPECT_EQ(names_of(HookStates(hooks, services.of_session).save()),
            (std::vector<std::string>{"LocalHook/version", "LocalHook/size", "TypedHook/version", "TypedHook/size"}));
}

TEST(HookStates, ComeBackWithTheirVersionToTheHookOfTheirName) {
  Services services;
  const Hooks saved = {std::make_shared<CountingHook>(5, "a"), std::make_shared<CountingHook>(7, "b")};
  const StateValues values = HookStates(saved, services.of_session).save();
  const auto a = std::make_shared<CountingHook>(0, "a");
  const auto b = std::make_shared<CountingHook>(0, "b");
  const Hooks restored = {b, a};
  HookStates(restored, services.of_session).load(values);
  EXPECT_EQ(a->count, 5);
  EXPECT_EQ(b->count, 7);
  EXPECT_EQ(a->loaded_version, 2);
}

TEST(HookStates, OfAHookThatIsGoneAreKeptAndSavedAgain) {
  Services services;
  testing::LogLines log;
  const Hooks both = {std::make_shared<CountingHook>(5, "a"), std::make_shared<CountingHook>(7, "gone")};
  const auto a = std::make_shared<CountingHook>(0, "a");
  const Hooks one = {a};
  HookStates states(one, services.of_session);
  states.load(HookStates(both, services.of_session).save());
  EXPECT_EQ(log.count("W the checkpoint has state of a hook 'gone' that the session does not have; it is kept"), 1U);
  a->count = 6;
  const auto again_a = std::make_shared<CountingHook>(0, "a");
  const auto again_gone = std::make_shared<CountingHook>(0, "gone");
  const Hooks again = {again_a, again_gone};
  HookStates(again, services.of_session).load(states.save());
  EXPECT_EQ(again_a->count, 6);
  EXPECT_EQ(again_gone->count, 7);
  EXPECT_EQ(again_gone->loaded_version, 2);
}

/// As a version saved it that told hooks of one type apart by their order.
StateValues counts_by_place(const std::vector<std::int64_t>& counts, const std::string& type = "CountingHook") {
  StateValues values;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const std::string name = i == 0 ? type : fmt::format("{}_{}", type, i);
    values.set(name + "/version", Tensor(std::int64_t{2}));
    values.set(name + "/count", Tensor(counts[i]));
  }
  return values;
}

TEST(HookStates, OfATypeThatHasOneHookLessAreSaidToGoByTheirOrder) {
  Services services;
  testing::LogLines log;
  const Hooks one = {std::make_shared<CountingHook>(0)};
  HookStates(one, services.of_session).load(counts_by_place({5, 7}));
  EXPECT_EQ(log.count("'CountingHook_1' that the session does not have; it is kept. Hooks of one type are told apart "
                      "by their order: the one whose name is 'CountingHook_1' takes it"),
            1U);
}

TEST(HookStates, ThatOnlyTheOrderOfTheListTellsApartAreNotSaved) {
  Services services;
  const auto first = std::make_shared<CountingHook>(0);
  const auto second = std::make_shared<CountingHook>(0);
  const Hooks both = {first, second};
  HookStates states(both, services.of_session);
  states.load(counts_by_place({5, 7}));
  EXPECT_EQ(first->count, 5) << "as the version that saved it would";
  EXPECT_EQ(second->count, 7);
  testing::expect_error(
      {"hooks 'CountingHook' and 'CountingHook_1' have state, and only their order in the list of hooks tells them "
       "apart: a restart with another list would give one the state of the other. Give each a name of its own, name() "
       "of your class or .name of a stock hook; the one that is called 'CountingHook_1' takes what an earlier version "
       "saved under 'CountingHook_1'"},
      [&] { static_cast<void>(states.save()); });
  const auto renamed = std::make_shared<CountingHook>(0, "CountingHook_1");
  const Hooks only = {renamed};
  HookStates(only, services.of_session).load(counts_by_place({5, 7}));
  EXPECT_EQ(renamed->count, 7);
}

/// Counts, and says what.
struct CountingOf final : SessionRunHook {
  explicit CountingOf(std::string thing, std::int64_t start = 0) : about(std::move(thing)), count(start) {}
  std::string name() const override { return detail::name_of_state(*this, {}, {about, "up"}); }
  StateValues save_state() override {
    StateValues values;
    values.set("count", Tensor(count));
    return values;
  }
  void load_state(const StateValues& state) override { count = state.at("count").scalar<std::int64_t>(); }
  std::string about;
  std::int64_t count;
};

TEST(HookStates, BelongToWhatTheirHookIsAboutWhateverItsPlace) {
  Services services;
  const Hooks saved = {std::make_shared<CountingOf>("eval/loss", 5), std::make_shared<CountingOf>("a:b,100%", 7)};
  const StateValues values = HookStates(saved, services.of_session).save();
  EXPECT_EQ(names_of(values),
            (std::vector<std::string>{"CountingOf(a%3Ab%2C100%25,up)/version", "CountingOf(a%3Ab%2C100%25,up)/count",
                                      "CountingOf(eval:loss,up)/version", "CountingOf(eval:loss,up)/count"}));
  const auto loss = std::make_shared<CountingOf>("eval/loss");
  const auto other = std::make_shared<CountingOf>("a:b,100%");
  const Hooks swapped = {other, loss};
  HookStates(swapped, services.of_session).load(values);
  EXPECT_EQ(loss->count, 5);
  EXPECT_EQ(other->count, 7);
}

TEST(HookStates, AboutSomethingElseAreKeptAndTheHookStartsFresh) {
  Services services;
  const testing::LogLines log;
  const Hooks saved = {std::make_shared<CountingOf>("eval/loss", 5)};
  const auto accuracy = std::make_shared<CountingOf>("eval/accuracy", 1);
  const Hooks changed = {accuracy};
  HookStates states(changed, services.of_session);
  states.load(HookStates(saved, services.of_session).save());
  EXPECT_EQ(accuracy->count, 1);
  EXPECT_EQ(log.count("W the checkpoint has state of a hook 'CountingOf(eval:loss,up)' that the session does not have; "
                      "it is kept. 'CountingOf(eval:accuracy,up)' is about something else, and starts fresh"),
            1U);
  const auto again = std::make_shared<CountingOf>("eval/loss");
  const Hooks back = {again};
  HookStates(back, services.of_session).load(states.save());
  EXPECT_EQ(again->count, 5);
}

TEST(HookStates, AboutTheSameAreToldApartByTheirOrderWithAWarning) {
  Services services;
  const testing::LogLines log;
  const Hooks saved = {std::make_shared<CountingOf>("eval/loss", 5), std::make_shared<CountingOf>("eval/loss", 7)};
  HookStates states(saved, services.of_session);
  static_cast<void>(states.save());
  const StateValues values = states.save();
  EXPECT_EQ(log.count("W hooks 'CountingOf(eval:loss,up)' and 'CountingOf(eval:loss,up)_1' are about the same"), 1U);
  const auto first = std::make_shared<CountingOf>("eval/loss");
  const auto second = std::make_shared<CountingOf>("eval/loss");
  const Hooks restored = {first, second};
  HookStates(restored, services.of_session).load(values);
  EXPECT_EQ(first->count, 5);
  EXPECT_EQ(second->count, 7);
}

TEST(HookStates, OfAnEarlierVersionAreTakenByPlaceIfNoneOfTheTypeSaysWhatItIsAbout) {
  Services services;
  const testing::LogLines log;
  const auto loss = std::make_shared<CountingOf>("eval/loss");
  const auto accuracy = std::make_shared<CountingOf>("eval/accuracy");
  const Hooks both = {loss, accuracy};
  StateValues values = counts_by_place({5, 7}, "CountingOf");
  HookStates(both, services.of_session).load(values);
  EXPECT_EQ(loss->count, 5);
  EXPECT_EQ(accuracy->count, 7);
  EXPECT_EQ(log.lines, std::vector<std::string>());
  values.set("CountingOf(eval:error,up)/count", Tensor(std::int64_t{9}));
  loss->count = accuracy->count = 0;
  HookStates(both, services.of_session).load(values);
  EXPECT_EQ(loss->count, 0);
  EXPECT_EQ(accuracy->count, 0);
}

/// Has a timer, and nothing else.
struct TimedHook final : SessionRunHook {
  SecondOrStepTimer timer{*this, {.every_steps = 5}};
};

TEST(HookStates, OfTimersAreToldApartByTheirOrderWithAWarning) {
  Services services;
  const testing::LogLines log;
  const auto first = std::make_shared<TimedHook>();
  const auto second = std::make_shared<TimedHook>();
  const Hooks hooks = {first, second};
  HookStates states(hooks, services.of_session);
  first->timer.set_last_triggered_step(5);
  EXPECT_EQ(names_of(states.save()), (std::vector<std::string>{"TimedHook/version", "TimedHook/_timer_0"}));
  EXPECT_EQ(log.lines, std::vector<std::string>());
  second->timer.set_last_triggered_step(10);
  static_cast<void>(states.save());
  EXPECT_EQ(log.count("W hooks 'TimedHook' and 'TimedHook_1' are about the same, so a checkpoint tells them apart by "
                      "their order in the list of hooks; give each a name before you change the list"),
            1U);
}

/// Calls a value as the library calls its own.
struct GreedyHook final : SessionRunHook {
  explicit GreedyHook(std::string value) : taken(std::move(value)) {}
  StateValues save_state() override {
    StateValues values;
    values.set(taken, Tensor(std::int64_t{1}));
    return values;
  }
  std::string taken;
};

TEST(HookStates, HaveNoValueWithANameOfTheLibrary) {
  Services services;
  for (const std::string taken : {"version", "_timer_0"}) {
    const Hooks hooks = {std::make_shared<GreedyHook>(taken)};
    HookStates states(hooks, services.of_session);
    testing::expect_error({"hook 'GreedyHook': its state has a value '" + taken + "', which is a name of the library"},
                          [&] { static_cast<void>(states.save()); });
  }
  const Hooks metrics = {std::make_shared<CountingHook>(1, "_metrics")};
  EXPECT_THROW((HookStates{metrics, services.of_session}), InvalidArgumentError);
}

TEST(HookStates, AHookWithoutStateInTheCheckpointStartsFresh) {
  Services services;
  const auto hook = std::make_shared<CountingHook>(9, "new");
  const Hooks hooks = {hook};
  HookStates(hooks, services.of_session).load({});
  EXPECT_EQ(hook->count, 9);
  EXPECT_FALSE(hook->loaded_version.has_value());
}

TEST(HookStates, WhatWasPublishedComesBackWhenTheSessionIsThere) {
  Services services;
  const Hooks hooks = {std::make_shared<StatelessHook>()};
  services.of_session.publish("eval/loss", {.step = 4, .value = 0.25});
  services.of_session.publish("accuracy", {.step = 3, .value = 0.5});
  const StateValues values = HookStates(hooks, services.of_session).save();
  EXPECT_EQ(names_of(values), (std::vector<std::string>{"_metrics/step/eval/loss", "_metrics/value/eval/loss",
                                                        "_metrics/step/accuracy", "_metrics/value/accuracy"}));
  Services second;
  HookStates restored(hooks, second.of_session);
  restored.load(values);
  EXPECT_EQ(second.of_session.metric("eval/loss"), nullptr);
  second.of_session.start_session("run/model.ckpt-4");
  ASSERT_NE(second.of_session.metric("eval/loss"), nullptr);
  EXPECT_EQ(second.of_session.metric("eval/loss")->step, 4);
  EXPECT_EQ(second.of_session.metric("accuracy")->value, 0.5);
  second.of_session.start_session("");  // of a session that nothing was restored into
  EXPECT_EQ(second.of_session.metric("eval/loss"), nullptr);
}

TEST(HookStates, AnExtraMetricIsExtraAfterARestart) {
  Services services;
  const Hooks hooks = {std::make_shared<StatelessHook>()};
  services.of_session.publish("eval/loss", {.step = 4, .value = 0.25, .is_extra = true});
  services.of_session.publish("accuracy", {.step = 4, .value = 0.5});
  Services second;
  HookStates(hooks, second.of_session).load(HookStates(hooks, services.of_session).save());
  second.of_session.start_session("run/model.ckpt-4");
  EXPECT_TRUE(second.of_session.metric("eval/loss")->is_extra);
  EXPECT_EQ(second.of_session.metric("eval/loss")->value, 0.25);
  EXPECT_FALSE(second.of_session.metric("accuracy")->is_extra);
}

TEST(HookStates, RefuseNamesThatAreTakenOrNone) {
  Services services;
  const Hooks twice = {std::make_shared<CountingHook>(1, "a"), std::make_shared<CountingHook>(2, "a")};
  EXPECT_THROW((HookStates{twice, services.of_session}), InvalidArgumentError);
  const Hooks slash = {std::make_shared<CountingHook>(1, "a/b")};
  EXPECT_THROW((HookStates{slash, services.of_session}), InvalidArgumentError);
  const Hooks hooks = {std::make_shared<CountingHook>(1, "a")};
  StateValues damaged;
  damaged.set("count", Tensor(std::int64_t{1}));
  EXPECT_THROW(HookStates(hooks, services.of_session).load(damaged), DataLossError);
}

/// Cannot say what its state is.
struct BrokenHook final : SessionRunHook {
  StateValues save_state() override { throw std::range_error("too far"); }
  void load_state(const StateValues&) override { throw std::range_error("too far"); }
};

TEST(HookStates, NameTheHookThatCannotSaveOrLoad) {
  Services services;
  const testing::LogLines log;
  const Hooks hooks = {std::make_shared<BrokenHook>()};
  HookStates states(hooks, services.of_session);
  const auto text_of = [](const auto& call) -> std::string {
    try {
      call();
    } catch (const std::range_error& error) { return error.what(); }
    return "nothing";
  };
  EXPECT_EQ(text_of([&] { static_cast<void>(states.save()); }), "hook 'BrokenHook' failed in save_state: too far");
  StateValues saved;
  saved.set("BrokenHook/count", Tensor(std::int64_t{1}));
  EXPECT_EQ(text_of([&] { states.load(saved); }), "hook 'BrokenHook' failed in load_state: too far");
  EXPECT_EQ(log.count("E hook 'BrokenHook' failed in save_state: too far"), 1U);
  EXPECT_EQ(log.count("E hook 'BrokenHook' failed in load_state: too far"), 1U);
}

}  // namespace
}  // namespace trainhook
