// SPDX-License-Identifier: Apache-2.0
/// @file
/// CheckpointPart: when a save and a restore ask a part, and what becomes of what it gave if the save fails.
#include <trainhook/checkpoint/checkpoint_part.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <trainhook/checkpoint/bundle/bundle_reader.hpp>
#include <trainhook/checkpoint/bundle/bundle_writer.hpp>
#include <trainhook/checkpoint/checkpoint_claim.hpp>
#include <trainhook/checkpoint/saver.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/hooks/async_checkpoint_saver_hook.hpp>
#include <trainhook/hooks/checkpoint_saver_hook.hpp>
#include <trainhook/loop/loop_session.hpp>
#include <trainhook/monitored/monitored_training_session.hpp>
#include <trainhook/session/session_run_hook.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/manual_clock.hpp>
#include <trainhook/testing/memory_file_system.hpp>

namespace trainhook::detail {
namespace {

using Lines = std::vector<std::string>;

/// What parts say, on the thread of the loop or of a save.
class Diary {
 public:
  void add(std::string line) {
    const std::scoped_lock lock(mutex_);
    lines_.push_back(std::move(line));
  }
  [[nodiscard]] Lines take() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(lines_, {});
  }

 private:
  std::mutex mutex_;
  Lines lines_;
};

/// Writes down when it is called.
class Recorded final : public CheckpointPart {
 public:
  Recorded(std::string name, Diary& trace, FileSystem& disk) : name_(std::move(name)), trace_(&trace), disk_(&disk) {}

  std::string refuses{};   ///< the reason of a veto
  bool fails = false;      ///< before the commit
  std::string excludes{};  ///< a checkpoint

  std::optional<std::string> veto(SaveMoment& moment) override {
    say("veto " + moment.prefix);
    return refuses.empty() ? std::nullopt : std::optional(refuses);
  }
  void take(const SaveMoment& moment, TakenParts& taken) override {
    say(moment.loop_waits ? "take" : "take for later");
    taken.push_back(std::make_shared<One>(*this, moment.prefix));
  }
  std::optional<std::string> why_not(const std::string& prefix) const override {
    return prefix == excludes ? std::optional<std::string>("of " + name_) : std::nullopt;
  }
  void tidy(std::optional<std::int64_t> step) noexcept override { say("tidy " + std::to_string(step.value_or(-1))); }

 private:
  struct One final : Taken {
    One(Recorded& recorded, std::string prefix) : part(recorded), path(std::move(prefix)) {}
    ~One() override { part.say(is_committed ? "gone" : "lost"); }
    std::span<const NamedTensor> entries() const noexcept override { return values; }
    void add_to(BundleWriter& writer) override { writer.add_side_file("." + part.name_, part.name_); }
    void before_commit() override {
      part.say(part.disk_->exists(path + ".index") ? "too late" : "before the commit");
      if (part.fails) throw UnavailableError("no room for {}", part.name_);
    }
    void committed() noexcept override {
      is_committed = true;
      part.say(part.disk_->exists(path + ".index") ? "committed" : "too early");
    }

    Recorded& part;
    std::string path;
    std::vector<NamedTensor> values{{"_trainhook/test/" + part.name_, Tensor(1.0)}};
    bool is_committed = false;
  };

  void say(const std::string& what) const { trace_->add(name_ + ": " + what); }

  std::string name_;
  Diary* trace_;
  FileSystem* disk_;
};

/// Lets the parts join the saver hook before it; the last one may exclude checkpoints.
struct Joining final : SessionRunHook {
  explicit Joining(std::vector<std::shared_ptr<Recorded>> all) : parts(std::move(all)) {}
  [[nodiscard]] HookPhase phase() const noexcept override { return HookPhase::Save; }
  void begin(Graph& graph) override {
    graph.offered<CheckpointClaim>().at(0)->parts.assign(parts.begin(), parts.end());
    graph.offer(std::shared_ptr<CheckpointPart>(parts.back()));
  }
  std::vector<std::shared_ptr<Recorded>> parts;
};

struct CheckpointPartTest : ::testing::Test {
  CheckpointPartTest() { loop.variable("weight", weight); }

  /// Runs that many steps with a saver hook, which the parts join, and forgets the first save.
  template <class Hook = CheckpointSaverHook>
  void train(int steps, int tolerated = 0) {
    auto session = monitored_training_session(
        loop, {.checkpoint_dir = "run",
               .save_summaries_steps = 0,
               .log_step_count_steps = 0,
               .hooks = {std::make_shared<Hook>(CheckpointSaverOptions{
                             .save_steps = 2, .tolerated_save_failures = tolerated, .overlap = SaveOverlap::Wait}),
                         std::make_shared<Joining>(std::vector{a, b})},
               .file_system = &disk,
               .clock = &clock});
    static_cast<void>(trace.take());
    for (int i = 0; i < steps; ++i) session.run([this] { weight += 1; });
    session.close();
  }

  testing::MemoryFileSystem disk;
  testing::ManualClock clock;
  testing::LogLines log;
  Diary trace;
  std::shared_ptr<Recorded> a = std::make_shared<Recorded>("a", trace, disk);
  std::shared_ptr<Recorded> b = std::make_shared<Recorded>("b", trace, disk);
  float weight = 0;
  LoopSession loop;
};

TEST_F(CheckpointPartTest, IsAskedThenTakenThenWrittenThenTold) {
  train(2);
  EXPECT_EQ(trace.take(), (Lines{"a: veto run/model.ckpt-2", "b: veto run/model.ckpt-2", "a: take", "b: take",
                                 "a: before the commit", "b: before the commit", "a: committed", "b: committed",
                                 "a: gone", "b: gone", "a: tidy 2", "b: tidy 2"}));
  const BundleReader reader("run/model.ckpt-2", {.file_system = &disk});
  EXPECT_TRUE(reader.has_tensor("_trainhook/test/a"));
  EXPECT_TRUE(reader.has_tensor("_trainhook/test/b"));
  EXPECT_EQ(disk.contents("run/model.ckpt-2.b"), "b");
}

TEST_F(CheckpointPartTest, OfASaveInTheBackgroundIsTakenForLater) {
  train<AsyncCheckpointSaverHook>(2);
  const Lines lines = trace.take();
  EXPECT_EQ(std::ranges::count(lines, "a: take for later"), 1);
  EXPECT_GE(std::ranges::count(lines, "b: committed"), 1) << "that of step 0 may be written before";
  EXPECT_EQ(lines.back(), "b: tidy 2");
}

TEST_F(CheckpointPartTest, ThatVetoesIsTheLastOneAskedAndNothingIsTaken) {
  train(0);
  b->refuses = "not now";
  train(1);
  EXPECT_EQ(trace.take(), (Lines{"a: veto run/model.ckpt-1", "b: veto run/model.ckpt-1"}));
  EXPECT_FALSE(disk.exists("run/model.ckpt-1.index"));
  EXPECT_EQ(log.count("W CheckpointSaverHook: the model of step 1 is not saved: not now"), 1U);
}

TEST_F(CheckpointPartTest, ThatFailsLeavesNoCheckpointAndNoPartIsCommitted) {
  train(0);
  b->fails = true;
  EXPECT_THROW(train(1), UnavailableError);
  EXPECT_EQ(trace.take(), (Lines{"a: veto run/model.ckpt-1", "b: veto run/model.ckpt-1", "a: take", "b: take",
                                 "a: before the commit", "b: before the commit", "a: lost", "b: lost"}));
  for (const std::string& path : disk.files()) EXPECT_EQ(path.find("ckpt-1"), std::string::npos) << path;
}

TEST_F(CheckpointPartTest, ThatFailsMayBeToleratedButNotAtTheEnd) {
  train(0);
  a->fails = true;
  EXPECT_THROW(train(3, 5), UnavailableError);
  EXPECT_EQ(log.count("E CheckpointSaverHook: the checkpoint of step 2 could not be saved: Unavailable: no room for a"),
            1U);
}

TEST_F(CheckpointPartTest, MayExcludeACheckpointFromARestore) {
  train(4);
  b->excludes = "run/model.ckpt-4";
  weight = -1;
  train(0);
  EXPECT_EQ(log.count("W checkpoint run/model.ckpt-4 is skipped: of b"), 1U);
  EXPECT_EQ(weight, 2);
}

TEST_F(CheckpointPartTest, OfASaverAloneIsWrittenBesideTheState) {
  Saver saver({.file_system = &disk});
  const TakenParts parts{std::make_shared<ExtraEntries>(std::vector<NamedTensor>{{"extra", Tensor(2.0)}}),
                         std::make_shared<SideFile>(".meta", "a graph")};
  saver.save(loop, {.save_path = "run/m", .global_step = 1, .parts = parts});
  EXPECT_EQ(disk.contents("run/m-1.meta"), "a graph");
  EXPECT_EQ(BundleReader("run/m-1", {.file_system = &disk}).get_tensor("extra").scalar<double>(), 2);
  weight = 5;
  saver.restore(loop, "run/m-1");
  EXPECT_EQ(weight, 0);
}

}  // namespace
}  // namespace trainhook::detail
