// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of the hook base and of lists of hooks.
#include <trainhook/session/session_run_hook.hpp>

#include <concepts>
#include <exception>
#include <memory>
#include <optional>
#include <utility>

#include <gtest/gtest.h>

#include <trainhook/events/file_writer_cache.hpp>
#include <trainhook/session/coordinator.hpp>
#include <trainhook/session/hook_services.hpp>
#include <trainhook/testing/manual_clock.hpp>
#include <trainhook/testing/memory_file_system.hpp>

#include "allocations.hpp"
#include "engine_double.hpp"

namespace trainhook {
namespace {

using detail::HookEntry;

class Idle final : public SessionRunHook {};

class Counting final : public SessionRunHook {
 public:
  struct Options {
    int depth = 0;
  };
  explicit Counting(Options options) : depth(options.depth) {}
  [[nodiscard]] HookServices& surroundings() const { return services(); }
  int depth;
};

class Pinned final : public SessionRunHook {
 public:
  explicit Pinned(int depth) : depth_(depth) {}
  Pinned(Pinned&&) = delete;
  [[nodiscard]] int depth() const { return depth_; }

 private:
  int depth_;
};

TEST(SessionRunHook, HasAnEmptyBodyForEveryCallback) {
  support::EngineDouble<true> engine;
  testing::ManualClock clock;
  Coordinator coordinator(clock);
  Idle hook;
  const RunRequest request;
  SessionRunContext context(engine, request, clock, nullptr);
  hook.begin(engine.graph());
  hook.after_create_session(engine, coordinator);
  const SessionRunArgs args = hook.before_run(context);
  hook.after_run(context, {});
  hook.on_run_failed(context, nullptr);
  hook.end(engine);
  hook.abort(nullptr);
  hook.load_state({});
  EXPECT_TRUE(args.fetches.empty());
  EXPECT_TRUE(hook.save_state().empty());
  EXPECT_EQ(hook.phase(), HookPhase::Normal);
  EXPECT_EQ(hook.veto_save(), std::nullopt);
  EXPECT_EQ(hook.name(), "");
  EXPECT_EQ(engine.take(), "");
  EXPECT_FALSE(context.stop_requested());
  static_assert(noexcept(hook.abort(nullptr)));
}

TEST(SessionRunHook, BelongsToOneSessionAtATimeAndACopyToNone) {
  Counting hook({.depth = 1});
  EXPECT_TRUE(detail::HookAccess::claim(hook));
  EXPECT_FALSE(detail::HookAccess::claim(hook));
  Counting copy = hook;
  EXPECT_TRUE(detail::HookAccess::claim(copy));
  detail::HookAccess::release(hook);
  EXPECT_TRUE(detail::HookAccess::claim(hook));
}

TEST(SessionRunHook, AnIdleStepAllocatesNothing) {
  support::EngineDouble<true> engine;
  testing::ManualClock clock;
  const auto hook = std::make_shared<Idle>();
  SessionRunHook& base = *hook;
  const RunRequest request;
  const support::AllocationCount count;
  SessionRunContext context(engine, request, clock, nullptr);
  const SessionRunArgs args = base.before_run(context);
  base.after_run(context, {});
  EXPECT_EQ(count.so_far(), 0U);
  EXPECT_TRUE(args.fetches.empty());
}

TEST(SessionRunHook, ReachesItsSurroundingsOnceItIsAttached) {
  testing::MemoryFileSystem disk;
  testing::ManualClock clock;
  FileWriterCache writers({.file_system = &disk, .clock = &clock});
  detail::SessionServices services(disk, clock, writers);
  Counting hook({});
  EXPECT_THROW((void)hook.surroundings(), FailedPreconditionError);
  detail::HookAccess::attach(hook, services);
  EXPECT_EQ(&hook.surroundings(), &services);
}

TEST(SessionRunHook, PhasesComeInTheirOrder) {
  EXPECT_LT(HookPhase::Check, HookPhase::Normal);
  EXPECT_LT(HookPhase::Normal, HookPhase::Save);
}

TEST(HookEntry, TakesAHookByValueSharedOrHandedOver) {
  const auto shared = std::make_shared<Counting>(Counting::Options{.depth = 1});
  const HookList hooks = {shared, Counting({.depth = 2}), make_hook<Counting>({.depth = 3}), make_hook<Pinned>(4),
                          std::make_unique<Pinned>(5)};
  ASSERT_EQ(hooks.size(), 5U);
  EXPECT_EQ(hooks[0].get(), shared);
  EXPECT_EQ(dynamic_cast<const Counting&>(*hooks[1].get()).depth, 2);
  EXPECT_EQ(dynamic_cast<const Counting&>(*hooks[2].get()).depth, 3);
  EXPECT_EQ(dynamic_cast<const Pinned&>(*hooks[3].get()).depth(), 4);
  EXPECT_EQ(dynamic_cast<const Pinned&>(*hooks[4].get()).depth(), 5);
}

struct SelfAware final : SessionRunHook, std::enable_shared_from_this<SelfAware> {};

TEST(HookEntry, KeepsSharedFromThisOfAHookGivenByValue) {
  const HookEntry entry(SelfAware{});
  EXPECT_EQ(dynamic_cast<SelfAware&>(*entry.get()).shared_from_this(), entry.get());
}

TEST(HookList, MayBeOneHookWithoutBraces) {
  const auto shared = std::make_shared<Counting>(Counting::Options{.depth = 1});
  const HookList of_shared = shared;
  const HookList of_value = Counting({.depth = 2});
  const HookList of_unique = std::make_unique<Pinned>(5);
  EXPECT_EQ(of_shared.size(), 1U);
  EXPECT_EQ(of_shared[0].get(), shared);
  EXPECT_EQ(of_value.size(), 1U);
  EXPECT_EQ(of_unique.size(), 1U);
  static_assert(!std::constructible_from<HookList, int*>);
}

TEST(HookEntry, IsMadeFromHooksAndPointersToThem) {
  static_assert(std::constructible_from<HookEntry, Counting>);
  static_assert(std::constructible_from<HookEntry, std::shared_ptr<Counting>&>);
  static_assert(!std::constructible_from<HookEntry, Counting*>);
  static_assert(!std::constructible_from<HookEntry, int>);
}

TEST(HookEntry, RefusesANullPointer) {
  EXPECT_THROW(HookEntry(std::shared_ptr<Counting>()), InvalidArgumentError);
  EXPECT_THROW(HookEntry(std::unique_ptr<Counting>()), InvalidArgumentError);
}

}  // namespace
}  // namespace trainhook
