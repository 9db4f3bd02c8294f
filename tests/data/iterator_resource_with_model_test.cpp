// SPDX-License-Identifier: Apache-2.0
/// @file
/// save_with_model: input and model in one checkpoint.
#include <trainhook/data/iterator_resource.hpp>

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/checkpoint/bundle/bundle_reader.hpp>
#include <trainhook/checkpoint/saver.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/data/loop_iterator.hpp>
#include <trainhook/testing/manual_clock.hpp>
#include <trainhook/testing/memory_file_system.hpp>

namespace trainhook {
namespace {

/// A loop that keeps the last element it took.
struct Loop {
  explicit Loop(const Dataset& dataset) : batches(make_iterator(session, dataset, "numbers")) {
    session.variable("last", last);
  }
  void take(int count) {
    for (int i = 0; i < count; ++i) {
      batches.get_next(element);
      last = element.at(0).scalar<std::int64_t>();
    }
  }
  std::int64_t last = -1;
  LoopSession session;
  Iterator& batches;
  Element element;
};

class SaveWithModelTest : public ::testing::Test {
 protected:
  Saver saver() { return Saver({.file_system = &disk, .clock = &clock}); }
  testing::MemoryFileSystem disk;
  testing::ManualClock clock;
};

TEST_F(SaveWithModelTest, TheInputIsRestoredWithTheModel) {
  for (const bool asked : {true, false}) {
    const auto make = [&](Loop& loop) {
      if (asked) save_with_model(loop.session.graph(), "numbers");
    };
    Loop first(Dataset::range(10));
    make(first);
    first.session.open();
    first.take(4);
    saver().save(first.session, {.save_path = "run/m", .global_step = 4});
    EXPECT_EQ(BundleReader("run/m-4", {.file_system = &disk}).has_tensor("numbers-state"), asked);
    Loop second(Dataset::range(10));
    make(second);
    second.session.open();
    saver().restore(second.session, "run/m-4");
    EXPECT_EQ(second.last, 3);
    second.take(1);
    EXPECT_EQ(second.last, asked ? 4 : 0) << "without it the input starts from its first element";
  }
}

TEST_F(SaveWithModelTest, ExternalStateIsAnErrorAWarningOrIgnored) {
  std::string log;
  const LogSink before = set_log_sink([&](LogLevel, std::string_view line) { log += line; });
  const Dataset stateful = Dataset::range(10).map([](const Element& element) { return element; }, {.stateful = true});
  const auto make = [&](ExternalStatePolicy policy) {
    Graph graph;
    save_with_model(make_iterator(graph, stateful), policy);
    EXPECT_EQ(graph.collection<std::string>(detail::kInputsWithModel), std::vector<std::string>{"IteratorV2-state"});
    return detail::external_state_policy(graph);
  };
  EXPECT_THROW(make(ExternalStatePolicy::Fail), FailedPreconditionError);
  EXPECT_EQ(make(ExternalStatePolicy::Ignore), ExternalStatePolicy::Ignore);
  EXPECT_EQ(log, "");
  EXPECT_EQ(make(ExternalStatePolicy::Warn), ExternalStatePolicy::Warn);
  EXPECT_NE(log.find("iterator 'IteratorV2' has state that no checkpoint can hold"), std::string::npos) << log;
  set_log_sink(before);
}

TEST_F(SaveWithModelTest, AnIteratorThatIsNotThereIsNamed) {
  Graph graph;
  EXPECT_THROW(save_with_model(graph, "numbers"), NotFoundError);
}

}  // namespace
}  // namespace trainhook
