// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tests of which types are engines.
#include <trainhook/session/session_like.hpp>

#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/session/session_ref.hpp>

#include "engine_double.hpp"

namespace trainhook {
namespace {

struct WithoutSnapshot {
  Graph& graph();
  void execute(const RunRequest&, std::span<Tensor>);
  std::vector<StateSpec> state();
  void load(std::span<const NamedTensor>);
  void close();
};
struct GivesItsGraphAway : WithoutSnapshot {
  const Graph& graph();
  std::vector<NamedTensor> snapshot(std::span<const std::string>);
};
struct Whole : WithoutSnapshot {
  std::vector<NamedTensor> snapshot(std::span<const std::string>);
};

TEST(SessionLike, IsWhatOffersTheSixCalls) {
  static_assert(SessionLike<Whole>);
  static_assert(SessionLike<support::EngineDouble<true>>);
  static_assert(SessionLike<support::EngineDouble<false>>);
  static_assert(SessionLike<SessionRef>);
  static_assert(!SessionLike<WithoutSnapshot>);
  static_assert(!SessionLike<GivesItsGraphAway>);
  static_assert(!SessionLike<int>);
}

}  // namespace
}  // namespace trainhook
