// SPDX-License-Identifier: Apache-2.0
/// @file
/// SessionPeers: a process alone.
#include <trainhook/monitored/session_peers.hpp>

#include <chrono>
#include <exception>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include <trainhook/core/error.hpp>
#include <trainhook/loop/loop_session.hpp>
#include <trainhook/monitored/chief_session_creator.hpp>

namespace trainhook {
namespace {

TEST(SessionPeers, OfAProcessAloneChangeNothing) {
  SessionPeers peers;
  EXPECT_TRUE(peers.is_chief());
  EXPECT_TRUE(peers.may_recreate());
  EXPECT_TRUE(peers.agrees_to_save());
  EXPECT_EQ(peers.same_for_all([] { return std::string("mine"); }), "mine");
  EXPECT_EQ(peers.share([] { return Metrics{{"loss", 2}}; }).front().value, 2);
  EXPECT_TRUE(peers.is_interrupted(true));
  EXPECT_FALSE(peers.is_interrupted(false));
  EXPECT_NO_THROW(peers.finish(std::make_exception_ptr(InternalError("an error")), std::chrono::seconds(1)));
  EXPECT_FALSE(peers.shares_session());
  LoopSession loop;
  const auto alone = std::make_shared<ChiefSessionCreator>(loop.graph(), [&] { return OwnedSession{.session = loop}; });
  EXPECT_EQ(peers.creator(alone), alone);
}

}  // namespace
}  // namespace trainhook
