// SPDX-License-Identifier: Apache-2.0
/// @file
/// ranks::peers: what ranks tell each other around a session; peers_test.cpp has the steps.
#include <trainhook/ranks/peers.hpp>

#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/hooks/row_logger_hook.hpp>
#include <trainhook/hooks/lambda_hook.hpp>
#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/monitored/chief_session_creator.hpp>
#include <trainhook/monitored/monitored_session.hpp>
#include <trainhook/ranks/testing/threaded_ranks.hpp>
#include <trainhook/testing/scripted_session.hpp>

namespace trainhook::detail {
namespace {

using namespace std::chrono_literals;
using Strings = std::vector<std::string>;

/// What each rank's `body` threw; one that throws tells the others.
Strings errors_of(testing::ThreadedRanks& job, const std::function<void(SessionPeers&)>& body) {
  Strings texts;
  for (const std::exception_ptr& error : job.run([&](const std::shared_ptr<Collective>& ranks) {
         const auto peers = ranks::peers(ranks, {.max_wait_secs = 60s});
         try {
           body(*peers);
         } catch (...) {
           peers->fail(std::current_exception(), 60s);
           throw;
         }
       }))
    texts.push_back(error != nullptr ? describe(error) : "");
  return texts;
}

TEST(RanksPeers, TheLastRoundTellsOfErrorsOfTheEnd) {
  testing::ThreadedRanks job(2);
  const Strings errors = errors_of(job, [&](SessionPeers& peers) {
    peers.finish(peers.is_chief() ? std::make_exception_ptr(InternalError("full")) : nullptr, 60s);
    peers.fail(std::make_exception_ptr(InternalError("too late")), 60s);  // the job is over
  });
  EXPECT_EQ(errors, (Strings{"", "Internal: rank 0 has failed: full"}));
}

TEST(RanksPeers, HooksOfSeveralRanksMayNotWriteTheSameFile) {
  testing::ThreadedRanks job(3);
  const Strings errors = errors_of(job, [&](SessionPeers& peers) {
    const Graph graph;
    const std::string path = peers.process() == 2 ? "log-2.csv" : "log.csv";
    peers.expect_same_program(graph, in_phases({CsvLoggerHook({}, {.path = path, .metrics = {"eval/loss"}})}));
  });
  const std::string expected =
      "InvalidArgument: several ranks would write the same: log.csv (CsvLoggerHook on ranks 0 and 1). Put the hook "
      "into "
      "chief_only_hooks, or give each rank a path of its own";
  EXPECT_EQ(errors, (Strings{expected, expected, expected}));
}

TEST(RanksPeers, ASessionWithItsOwnCreatorHasOne) {
  testing::ThreadedRanks job(2);
  std::vector<int> runs(2);
  const auto errors = job.run([&](const std::shared_ptr<Collective>& ranks) {
    testing::Script script;
    MonitoredSessionOptions options{.peers = ranks::peers(ranks)};
    if (ranks->rank() == 1) options.hooks = {StopAtStepHook({.last_step = 3})};
    MonitoredSession<testing::ScriptedSession> session(std::make_shared<testing::ScriptedSessionCreator>(script),
                                                       options);
    run_until_stop(session, script.train());
    runs[static_cast<std::size_t>(ranks->rank())] = script.runs;
  });
  // A hook that looks at the step alone must be on all ranks.
  for (const std::exception_ptr& error : errors)
    EXPECT_NE(describe(error).find("on rank 1 StopAtStepHook's last_step is '3' and not there"), std::string::npos);

  const auto none = job.run([&](const std::shared_ptr<Collective>& ranks) {
    testing::Script script;
    MonitoredSessionOptions options{.peers = ranks::peers(ranks)};
    if (ranks->rank() == 1) script.throw_at(4, OutOfRangeError("no more"));
    MonitoredSession<testing::ScriptedSession> session(std::make_shared<testing::ScriptedSessionCreator>(script),
                                                       options);
    run_until_stop(session, script.train());
    runs[static_cast<std::size_t>(ranks->rank())] = script.runs;
  });
  EXPECT_EQ(none, std::vector<std::exception_ptr>(2));
  EXPECT_EQ(runs, (std::vector{4, 4}));
}

TEST(RanksPeers, AHookThatCannotBeginEndsAllBeforeASessionIsMade) {
  for (const int broken : {0, 2}) {
    testing::ThreadedRanks job(3);
    std::vector<int> opened(3);
    const auto errors = job.run([&](const std::shared_ptr<Collective>& ranks) {
      testing::Script script;
      MonitoredSessionOptions options{.peers = ranks::peers(ranks)};
      if (ranks->rank() == broken)
        options.hooks = {LambdaHook({.begin = [](Graph&) { throw InternalError("not today"); }})};
      MonitoredSession<testing::ScriptedSession> session(
          std::make_shared<ChiefSessionCreator>(script.graph(),
                                                [&] {
                                                  ++opened[static_cast<std::size_t>(ranks->rank())];
                                                  return OwnedSession::make<testing::ScriptedSession>(script);
                                                }),
          options);
    });
    const std::string own = "hook 'LambdaHook' failed in begin: not today";
    for (std::size_t rank = 0; rank < 3; ++rank) {
      EXPECT_EQ(describe(errors[rank]), static_cast<int>(rank) == broken
                                            ? "Internal: " + own
                                            : "Internal: rank " + std::to_string(broken) + " has failed: " + own);
    }
    EXPECT_EQ(opened, std::vector<int>(3));
    EXPECT_EQ(job.why_it_was_ended(), "");
  }
}

}  // namespace
}  // namespace trainhook::detail
