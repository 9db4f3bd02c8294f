// SPDX-License-Identifier: Apache-2.0
/// @file
/// RankSessionCreator: the chief's values on every rank, or an error on every rank.
#include <trainhook/ranks/rank_session_creator.hpp>

#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/checkpoint/saver.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/hooks/scaffold.hpp>
#include <trainhook/ranks/rank_rounds.hpp>
#include <trainhook/ranks/testing/threaded_ranks.hpp>
#include <trainhook/testing/memory_file_system.hpp>
#include <trainhook/testing/scripted_session.hpp>

namespace trainhook::detail {
namespace {

using namespace std::chrono_literals;
using testing::Script;
using testing::ScriptedSession;

/// An engine that chooses its kernels by the processor.
class EngineOfAProcessor final : public ScriptedSession {
 public:
  EngineOfAProcessor(Script& script, std::string_view width) : ScriptedSession(script), width_(width) {}
  [[nodiscard]] std::string_view kernel_width() const { return width_; }

 private:
  std::string_view width_;
};

/// What each rank threw; `use` gets the rank and its session.
std::vector<std::string> create_all(int size, const std::function<void(int rank, Script& script)>& prepare,
                                    const std::function<void(int rank, ScriptedSession& session)>& use = {},
                                    const std::function<ChiefSessionCreatorOptions()>& options = {}) {
  testing::ThreadedRanks job(size);
  std::vector<std::string> texts;
  for (const std::exception_ptr& error : job.run([&](const std::shared_ptr<Collective>& ranks) {
         RankRounds rounds(ranks, 60s);
         Script script;
         prepare(ranks->rank(), script);
         ChiefSessionCreator alone(
             script.graph(), [&] { return OwnedSession::make<ScriptedSession>(script); },
             options ? options() : ChiefSessionCreatorOptions());
         RankSessionCreator creator(rounds, alone);
         try {
           const OwnedSession owned = creator.create_session();
           if (use) use(ranks->rank(), owned.session.as<ScriptedSession>());
         } catch (...) {
           rounds.fail(std::current_exception(), 60s);
           throw;
         }
       }))
    texts.push_back(error != nullptr ? describe(error) : "");
  return texts;
}

TEST(RankSessionCreator, GivesAllTheInitialValuesOfTheChief) {
  std::vector<float> values(3);
  const auto errors = create_all(
      3, [](int rank, Script& script) { script.variable("v", Tensor(static_cast<float>(rank) + 0.5F)); },
      [&](int rank, ScriptedSession& session) {
        values[static_cast<std::size_t>(rank)] = session.variable("v").scalar<float>();
      });
  EXPECT_EQ(errors, std::vector<std::string>(3));
  EXPECT_EQ(values, (std::vector{0.5F, 0.5F, 0.5F}));
}

TEST(RankSessionCreator, GivesAllWhatTheCheckpointDoesNotHaveFromTheChief) {
  testing::MemoryFileSystem disk;
  Script saved;
  saved.variable("v", Tensor(7.0F));
  ScriptedSession earlier(saved);
  static_cast<void>(Saver({.var_list = {"v"}, .file_system = &disk})
                        .save(earlier, {.save_path = "run/model.ckpt", .global_step = 4}));
  std::vector<float> restored(3);
  std::vector<float> others(3);
  const auto errors = create_all(
      3,
      [](int rank, Script& script) {
        script.variable("v", Tensor(static_cast<float>(rank)));
        script.variable("other", Tensor(static_cast<float>(rank) + 0.5F));
      },
      [&](int rank, ScriptedSession& session) {
        restored[static_cast<std::size_t>(rank)] = session.variable("v").scalar<float>();
        others[static_cast<std::size_t>(rank)] = session.variable("other").scalar<float>();
      },
      [&] {
        const auto saver = std::make_shared<Saver>(SaverOptions{.var_list = {"v"}});
        return ChiefSessionCreatorOptions{.scaffold = std::make_shared<Scaffold>(ScaffoldOptions{.saver = saver}),
                                          .checkpoint_dir = "run",
                                          .file_system = &disk};
      });
  EXPECT_EQ(errors, std::vector<std::string>(3));
  EXPECT_EQ(restored, (std::vector{7.0F, 7.0F, 7.0F}));
  EXPECT_EQ(others, (std::vector{0.5F, 0.5F, 0.5F}));
}

TEST(RankSessionCreator, NoRankHasASessionIfOneCannotMakeIt) {
  for (const int broken : {0, 1, 2}) {
    const auto errors = create_all(
        3,
        [&](int rank, Script& script) {
          if (rank == broken) script.before_each_run = [] { throw InternalError("out of memory"); };
        },
        [](int rank, ScriptedSession&) { ADD_FAILURE() << "rank " << rank << " has a session"; });
    for (std::size_t rank = 0; rank < 3; ++rank) {
      const std::string expected = static_cast<int>(rank) == broken
                                       ? "Internal: out of memory"
                                       : "Internal: rank " + std::to_string(broken) + " has failed: out of memory";
      EXPECT_EQ(errors[rank], expected);
    }
  }
}

TEST(RankSessionCreator, NoRankHasASessionIfOneOfThemHasAnotherProcessorsKernels) {
  for (const std::string_view width : {"avx2", "sse2"}) {
    testing::ThreadedRanks job(3);
    std::vector<std::string> errors;
    for (const std::exception_ptr& error : job.run([&](const std::shared_ptr<Collective>& ranks) {
           RankRounds rounds(ranks, 60s);
           Script script;
           const auto open = [&] {
             return OwnedSession::make<EngineOfAProcessor>(script, ranks->rank() == 1 ? width : "avx2");
           };
           ChiefSessionCreator alone(script.graph(), open, ChiefSessionCreatorOptions());
           RankSessionCreator creator(rounds, alone);
           try {
             static_cast<void>(creator.create_session());
           } catch (...) {
             rounds.fail(std::current_exception(), 60s);
             throw;
           }
         }))
      errors.push_back(error != nullptr ? describe(error) : "");
    if (width == "avx2") {
      EXPECT_EQ(errors, std::vector<std::string>(3));
      continue;
    }
    for (const std::string& error : errors)
      EXPECT_NE(error.find("use sse2 and those of rank 0 avx2, so their last bits differ"), std::string::npos) << error;
  }
}

}  // namespace
}  // namespace trainhook::detail
