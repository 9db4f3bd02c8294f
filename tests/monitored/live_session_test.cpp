// SPDX-License-Identifier: Apache-2.0
/// @file
/// LiveSession: what is merged into one run, what each hook gets of it, and what the caller's own objects look like
/// afterwards.
#include <trainhook/monitored/live_session.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/events/file_writer_cache.hpp>
#include <trainhook/testing/manual_clock.hpp>
#include <trainhook/testing/memory_file_system.hpp>
#include <trainhook/testing/scripted_session.hpp>

namespace trainhook {
namespace {

using detail::Hooks;
using detail::LiveSession;

using testing::ScriptedSession;

/// Passes on what it is asked to a scripted session, and remembers it.
class Inner {
 public:
  explicit Inner(testing::Script& script) : session_(script) {}
  [[nodiscard]] Graph& graph() noexcept { return session_.graph(); }
  void execute(const RunRequest& request, std::span<Tensor> results) {
    fetches.assign(request.fetches.begin(), request.fetches.end());
    feeds.assign(request.feed_dict.begin(), request.feed_dict.end());
    options = request.options == nullptr ? std::nullopt : std::optional(*request.options);
    options_object = request.options;
    metadata = request.metadata;
    session_.execute(request, results);
  }
  [[nodiscard]] std::vector<StateSpec> state() const { return session_.state(); }
  [[nodiscard]] std::vector<NamedTensor> snapshot(std::span<const std::string> names) const {
    return session_.snapshot(names);
  }
  void load(std::span<const NamedTensor> entries) { session_.load(entries); }
  void close() { session_.close(); }

  std::vector<Fetch> fetches;
  std::vector<Feed> feeds;
  std::optional<RunOptions> options;
  const RunOptions* options_object = nullptr;
  RunMetadata* metadata = nullptr;

 private:
  ScriptedSession session_;
};

/// Counts its callbacks, asks for what it is told to, and remembers what it got.
class FakeHook final : public SessionRunHook {
 public:
  void begin(Graph&) override { ++begins; }
  void after_create_session(SessionRef, Coordinator&) override { ++creates; }
  SessionRunArgs before_run(SessionRunContext& context) override {
    ++befores;
    session = context.session();
    user_fetches.assign(context.original_args().fetches.begin(), context.original_args().fetches.end());
    user_options = context.original_args().options;
    return request;
  }
  void after_run(SessionRunContext& context, const SessionRunValues& values) override {
    ++afters;
    results.assign(values.results.begin(), values.results.end());
    options = *values.options;
    metadata = values.run_metadata;
    metadata_nodes = values.run_metadata->node_stats.size();
    if (stops) context.request_stop();
  }

  SessionRunArgs request{};
  bool stops = false;
  int begins = 0, creates = 0, befores = 0, afters = 0;
  SessionRef session{};
  std::vector<Fetch> user_fetches;
  const RunOptions* user_options = nullptr;
  std::vector<Tensor> results;
  RunOptions options{};
  const RunMetadata* metadata = nullptr;
  std::size_t metadata_nodes = 0;
};

class LiveSessionTest : public ::testing::Test {
 protected:
  LiveSession alive(const Hooks& with) {
    return {{.owner = {}, .session = inner}, with, services, recovery, std::chrono::seconds(1)};
  }
  Tensor run(LiveSession& session, Output output, std::vector<Feed> feeds = {}, const RunOptions* options = nullptr,
             RunMetadata* metadata = nullptr) {
    const Fetch fetch(output);
    Tensor result;
    session.run({.fetches = {&fetch, 1}, .feed_dict = feeds, .options = options, .metadata = metadata}, {&result, 1});
    return result;
  }
  std::string message_of_run(LiveSession& session, Output output, std::vector<Feed> feeds = {}) {
    try {
      (void)run(session, output, std::move(feeds));
    } catch (const Error& error) { return describe(std::current_exception()); }
    return "nothing was thrown";
  }

  testing::ManualClock clock;
  testing::MemoryFileSystem disk;
  FileWriterCache writers{{.file_system = &disk, .clock = &clock}};
  detail::SessionServices services{disk, clock, writers};
  detail::RecoveryPolicy recovery{{}, clock};
  testing::Script script;
  Output zero = script.value("zero", [] { return 0.0F; });
  Output five = script.value("five", [] { return 5.0F; });
  Output ten = script.value("ten", [] { return 10.0F; });
  Inner inner{script};
  std::shared_ptr<FakeHook> a = std::make_shared<FakeHook>();
  std::shared_ptr<FakeHook> b = std::make_shared<FakeHook>();
  Hooks hooks{a, b};
};

TEST_F(LiveSessionTest, M051_WithoutHooksTheEngineGetsWhatTheCallerGave) {
  const Hooks none;
  LiveSession session = alive(none);
  const RunOptions options{.trace_level = TraceLevel::Software, .timeout = std::chrono::milliseconds(7)};
  RunMetadata metadata;
  EXPECT_EQ(run(session, zero, {{zero, 7.0F}}, &options, &metadata).scalar<float>(), 7);
  EXPECT_EQ(inner.fetches, std::vector<Fetch>{zero});
  ASSERT_EQ(inner.feeds.size(), 1U);
  EXPECT_EQ(inner.feeds[0].key, zero);
  ASSERT_TRUE(inner.options);
  EXPECT_EQ(inner.options->trace_level, TraceLevel::Software);
  EXPECT_EQ(inner.options->timeout, std::chrono::milliseconds(7));
  EXPECT_EQ(inner.metadata, &metadata);
}

TEST_F(LiveSessionTest, M052_CallsOnlyTheCallbacksOfARun) {
  LiveSession session = alive(hooks);
  (void)run(session, zero);
  for (const auto& hook : {a, b}) {
    EXPECT_EQ(hook->begins, 0);
    EXPECT_EQ(hook->creates, 0);
    EXPECT_EQ(hook->befores, 1);
    EXPECT_EQ(hook->afters, 1);
    EXPECT_TRUE(hook->results.empty());
    EXPECT_EQ(hook->options.trace_level, TraceLevel::None);  // no options were given: all defaults
    EXPECT_EQ(hook->metadata_nodes, 0U);
    EXPECT_EQ(hook->user_fetches, std::vector<Fetch>{zero});
    EXPECT_EQ(hook->session, SessionRef(inner));
  }
}

TEST_F(LiveSessionTest, M053_StopsOnceAHookAsksForIt) {
  LiveSession session = alive(hooks);
  (void)run(session, zero);
  EXPECT_FALSE(session.should_stop());
  a->stops = true;
  (void)run(session, zero);
  EXPECT_TRUE(session.should_stop());
}

TEST_F(LiveSessionTest, M054_GivesEachHookWhatItAskedFor) {
  a->request = {five};
  b->request = {ten};
  LiveSession session = alive(hooks);
  EXPECT_EQ(run(session, zero).scalar<float>(), 0);
  ASSERT_EQ(a->results.size(), 1U);
  EXPECT_EQ(a->results[0].scalar<float>(), 5);
  ASSERT_EQ(b->results.size(), 1U);
  EXPECT_EQ(b->results[0].scalar<float>(), 10);
}

TEST_F(LiveSessionTest, M055_HooksMayFeedWhatTheUserDoesNot) {
  a->request = {.feed_dict = {{zero, 5.0F}}};
  b->request = {.feed_dict = {{five, 10.0F}}};
  LiveSession session = alive(hooks);
  EXPECT_EQ(run(session, zero).scalar<float>() + run(session, five).scalar<float>(), 15);
  EXPECT_EQ(inner.feeds.size(), 2U);
}

TEST_F(LiveSessionTest, HooksAndUserMayFeedDifferentTensors) {
  a->request = {.feed_dict = {{zero, 5.0F}}};
  LiveSession session = alive(hooks);
  EXPECT_EQ(run(session, ten, {{ten, 20.0F}}).scalar<float>(), 20);
  EXPECT_EQ(inner.feeds.size(), 2U);
}

TEST_F(LiveSessionTest, M057_S26_TwoHooksCannotFeedOneTensorHoweverTheyCallIt) {
  a->request = {.feed_dict = {{zero, 5.0F}}};
  b->request = {.feed_dict = {{script.graph().output("zero"), 10.0F}}};  // by name: the same key
  LiveSession session = alive(hooks);
  EXPECT_EQ(message_of_run(session, zero),
            "FailedPrecondition: Same tensor is fed by two hooks: 'zero:0'; leave it to one of them");
}

TEST_F(LiveSessionTest, S26_AHookAndTheUserCannotFeedOneTensor) {
  a->request = {.feed_dict = {{zero, 5.0F}}};
  LiveSession session = alive(hooks);
  EXPECT_EQ(message_of_run(session, zero, {{zero, 3.0F}}),
            "FailedPrecondition: Same tensor is fed by a SessionRunHook and user: 'zero:0'; leave it to one of them");
  EXPECT_EQ(b->befores, 1);  // every hook was asked first
}

TEST_F(LiveSessionTest, M077_MergesTheOptionsOfAllHooksAndSharesOneMetadata) {
  a->request.options = RunOptions{.trace_level = TraceLevel::Hardware, .timeout = std::chrono::milliseconds(60'000)};
  b->request.options = RunOptions{.trace_level = TraceLevel::Full, .timeout = std::chrono::milliseconds(30'000)};
  LiveSession session = alive(hooks);
  (void)run(session, zero);
  for (const auto& hook : {a, b}) {
    EXPECT_EQ(hook->options.trace_level, TraceLevel::Full);
    EXPECT_EQ(hook->options.timeout, std::chrono::milliseconds(60'000));
    EXPECT_EQ(hook->metadata_nodes, 1U);
  }
  EXPECT_EQ(a->metadata, b->metadata);
  EXPECT_EQ(a->metadata, inner.metadata);
}

TEST_F(LiveSessionTest, MetadataThatIsGivenAgainTellsOfTheLastRunOnly) {
  a->request.options = RunOptions{.trace_level = TraceLevel::Full};
  LiveSession session = alive(hooks);
  RunMetadata metadata;
  for (int i = 0; i < 2; ++i) (void)run(session, zero, {}, nullptr, &metadata);
  EXPECT_EQ(a->metadata, &metadata);
  EXPECT_EQ(a->metadata_nodes, 1U);
}

TEST_F(LiveSessionTest, X24_S4_TheCallersOptionsAreMergedIntoACopy) {
  a->request.options = RunOptions{.trace_level = TraceLevel::Full};
  LiveSession session = alive(hooks);
  const RunOptions options{.timeout = std::chrono::milliseconds(5)};
  for (int i = 0; i < 3; ++i) {
    (void)run(session, zero, {}, &options);
    EXPECT_NE(inner.options_object, &options);
    EXPECT_EQ(inner.options->trace_level, TraceLevel::Full);
    EXPECT_EQ(inner.options->timeout, std::chrono::milliseconds(5));
  }
  EXPECT_EQ(options.trace_level, TraceLevel::None);
}

TEST_F(LiveSessionTest, S35_HooksSeeTheUsersOptionsAsHeGaveThem) {
  LiveSession session = alive(hooks);
  const RunOptions options{.timeout = std::chrono::milliseconds(5)};
  (void)run(session, zero, {}, &options);
  EXPECT_EQ(a->user_options, &options);
  (void)run(session, zero);
  EXPECT_EQ(a->user_options, nullptr);
}

}  // namespace
}  // namespace trainhook
