// SPDX-License-Identifier: Apache-2.0
/// @file
/// Tensors of which each rank of a job has its own parts: one checkpoint holds them, and any other cut restores them.
#include <trainhook/ranks/peers.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <trainhook/checkpoint/bundle/bundle_reader.hpp>
#include <trainhook/compat/checkpoint_manager.hpp>
#include <trainhook/checkpoint/checkpoint_state.hpp>
#include <trainhook/checkpoint/restore_rules.hpp>
#include <trainhook/checkpoint/saver.hpp>
#include <trainhook/hooks/async_checkpoint_saver_hook.hpp>
#include <trainhook/hooks/best_checkpoint_hook.hpp>
#include <trainhook/hooks/checkpoint_saver_hook.hpp>
#include <trainhook/hooks/stop_at_step_hook.hpp>
#include <trainhook/loop/loop_session.hpp>
#include <trainhook/monitored/monitored_training_session.hpp>
#include <trainhook/ranks/testing/threaded_ranks.hpp>
#include <trainhook/session/session_ref.hpp>
#include <trainhook/session/session_run_hook.hpp>
#include <trainhook/testing/faulty_file_system.hpp>
#include <trainhook/testing/log_lines.hpp>
#include <trainhook/testing/memory_file_system.hpp>

namespace trainhook {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Options = MonitoredTrainingSessionOptions;
using Strings = std::vector<std::string>;

/// The value of an element of the field at first; each step adds 1.
double first_value(std::int64_t row, std::int64_t column) { return static_cast<double>(row * 1000 + column); }

/// Rows of a field.
struct Block {
  std::int64_t first = 0;
  std::vector<double> values{};
};

/// A rank's part of a field of `rows` rows, in `num_blocks` blocks.
struct Program {
  Program(int rank, int size, std::int64_t rows, std::int64_t num_columns, int num_blocks, const std::string& tensor)
      : columns(num_columns) {
    const auto all = static_cast<std::int64_t>(size) * num_blocks;
    for (std::int64_t block = 0; block < num_blocks; ++block) {
      const std::int64_t number = block * size + rank;  // so that the blocks of a rank are not neighbours
      const std::int64_t begin = rows * number / all;
      const std::int64_t end = rows * (number + 1) / all;
      blocks.push_back({begin, std::vector<double>(static_cast<std::size_t>((end - begin) * columns))});
    }
    for (Block& block : blocks) {
      for (std::size_t i = 0; i < block.values.size(); ++i) {
        const auto at = static_cast<std::int64_t>(i);
        block.values[i] = first_value(block.first + at / columns, at % columns);
      }
    }
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      loop.variable(i == 0 ? "field" : "block" + std::to_string(i), std::span(blocks[i].values),
                    {.shape = {-1, columns},
                     .part_of = {.shape = {rows, columns}, .offset = {blocks[i].first, 0}, .name = tensor}});
    }
    loop.variable("shared", shared);
    first = loop.value("first", [this] { return blocks.front().values.empty() ? 0.0 : blocks.front().values.front(); });
  }

  void step() {
    for (Block& block : blocks)
      for (double& value : block.values) ++value;
    ++shared;
  }

  /// Whether all that this rank has is of that step.
  [[nodiscard]] bool is_of(std::int64_t step) const {
    bool is_right = shared == static_cast<float>(step);
    for (const Block& block : blocks) {
      for (std::size_t i = 0; i < block.values.size(); ++i) {
        const auto at = static_cast<std::int64_t>(i);
        is_right = is_right &&
                   block.values[i] == first_value(block.first + at / columns, at % columns) + static_cast<double>(step);
      }
    }
    return is_right;
  }

  std::int64_t columns;
  std::vector<Block> blocks;
  float shared = 0;
  Output first;
  LoopSession loop;
};

/// Asks for a save after the second step.
class AskingForASave final : public SessionRunHook {
 public:
  void after_run(SessionRunContext& context, const SessionRunValues& /*values*/) override {
    if (context.global_step() == 2) services().request_save();
  }
};

/// Does something with the session before the first step.
class WithSession final : public SessionRunHook {
 public:
  explicit WithSession(std::function<void(SessionRef)> action) : action_(std::move(action)) {}
  void after_create_session(SessionRef session, Coordinator& /*coordinator*/) override { action_(session); }

 private:
  std::function<void(SessionRef)> action_;
};

/// What a rank read to restore its part.
struct Reads {
  std::set<std::string> data_files{};
  std::uint64_t bytes = 0;
};

class PartsTest : public ::testing::Test {
 protected:
  /// Trains until `last_step`, saving every 2 steps; returns how each rank ended: its error, or empty.
  Strings train(int size, std::int64_t last_step, const std::function<void(Program&, int rank)>& change = {}) {
    testing::ThreadedRanks ranks(size);
    Strings ends(static_cast<std::size_t>(size));
    reads.assign(ends.size(), {});
    ranks.run([&](const std::shared_ptr<Collective>& collective) {
      const int rank = collective->rank();
      try {
        testing::FaultyFileSystem counted(static_cast<FileSystem&>(faulty));
        Program program(rank, size, rows, columns, num_blocks, tensor);
        if (change) change(program, rank);
        Options options{.peers = ranks::peers(collective, {.max_wait_secs = 60s}),
                        .checkpoint_dir = directory,
                        .restore = restore,
                        .file_system = &counted};
        options.hooks = {StopAtStepHook({.last_step = last_step})};
        if (runs_inside) options.hooks.push_back(std::make_shared<AskingForASave>());
        const CheckpointSaverOptions saves{.checkpoint_dir = directory, .save_steps = save_steps};
        if (rank == 0 && in_background) options.chief_only_hooks = {AsyncCheckpointSaverHook(saves)};
        if (rank == 0 && !in_background) options.chief_only_hooks = {CheckpointSaverHook(saves)};
        if (rank == 0 && also != nullptr) options.chief_only_hooks.push_back(also);
        auto session = monitored_training_session(program.loop, options);
        Reads& read = reads[static_cast<std::size_t>(rank)];
        for (const std::string& operation : counted.trace()) {
          const std::size_t end = operation.find(".data-");
          if (operation.starts_with("open_readable ") && end != std::string::npos)
            read.data_files.insert(operation.substr(end + 6, 5));
        }
        read.bytes = counted.bytes_read();
        EXPECT_TRUE(program.is_of(session.global_step())) << "rank " << rank << " of " << size;
        while (!session.should_stop()) {
          session.run([&] {
            if (runs_inside) static_cast<void>(session.run(program.first));
            program.step();
          });
        }
        EXPECT_TRUE(program.is_of(last_step));
        session.close();
      } catch (...) { ends[static_cast<std::size_t>(rank)] = describe(std::current_exception()); }
    });
    return ends;
  }

  /// The step of the newest checkpoint, which one process reads as a whole; -1 if there is none.
  std::int64_t whole_step() {
    const std::optional<std::string> prefix = latest_checkpoint(disk, "run");
    if (!prefix) return -1;
    const BundleReader reader(*prefix, {.file_system = &disk});
    reader.verify();
    const auto step = reader.get_tensor("global_step").scalar<std::int64_t>();
    const Tensor field = reader.get_tensor(tensor);
    EXPECT_EQ(field.shape(), Shape({rows, columns}));
    std::int64_t wrong = 0;
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t column = 0; column < columns; ++column) {
        const double expected = first_value(row, column) + static_cast<double>(step);
        if (field.data<double>()[static_cast<std::size_t>(row * columns + column)] != expected) ++wrong;
      }
    }
    EXPECT_EQ(wrong, 0);
    return step;
  }

  void empty_disk() {
    disk.crash();
    for (const std::string& path : disk.files()) disk.remove_file(path);
    if (disk.is_directory("run")) disk.sync_directory("run");
  }

  void copy_from(testing::MemoryFileSystem& other) {
    empty_disk();
    for (const std::string& path : other.files()) disk.write_file(path, other.contents(path));
  }

  std::int64_t rows = 24;
  std::int64_t columns = 8;
  int num_blocks = 1;
  std::string tensor = "field";
  std::string directory = "run";
  std::shared_ptr<const RestorePolicy> restore;
  std::int64_t save_steps = 2;
  std::shared_ptr<SessionRunHook> also;  // of rank 0
  bool runs_inside = false;              // a run inside each step, and a save that is asked for
  bool in_background = false;
  std::vector<Reads> reads;  // of the last job, by rank
  testing::LogLines log;
  testing::MemoryFileSystem disk;
  testing::FaultyFileSystem faulty{disk};
};

TEST_F(PartsTest, AnyNumberOfRanksRestoresWhatAnyOtherSaved) {
  for (const int saving : {1, 2, 3, 8}) {
    empty_disk();
    EXPECT_THAT(train(saving, 2), Each(""));
    ASSERT_EQ(whole_step(), 2) << saving;
    testing::MemoryFileSystem saved;
    for (const std::string& path : disk.files()) saved.write_file(path, disk.contents(path));
    for (const int restoring : {1, 2, 3, 8}) {
      SCOPED_TRACE(std::to_string(saving) + " to " + std::to_string(restoring));
      copy_from(saved);
      EXPECT_THAT(train(restoring, 4), Each(""));
      EXPECT_EQ(whole_step(), 4);
      for (int rank = 0; rank < restoring; ++rank) {
        std::set<std::string> expected = {"00000"};  // the step and what ranks have of their own
        const auto end_of = [&](int number, int all) { return rows * (number + 1) / all; };
        for (int part = 0; part < saving; ++part) {
          if (end_of(part - 1, saving) < end_of(rank, restoring) && end_of(rank - 1, restoring) < end_of(part, saving))
            expected.insert("0000" + std::to_string(part));
        }
        EXPECT_EQ(reads[static_cast<std::size_t>(rank)].data_files, expected) << "rank " << rank;
      }
    }
  }
}

TEST_F(PartsTest, ARankReadsLittleMoreThanItsPart) {
  rows = 64;
  columns = 16 << 10;  // 8 MiB
  const std::uint64_t all = static_cast<std::uint64_t>(rows * columns) * sizeof(double);
  const std::uint64_t mebibyte = std::uint64_t{1} << 20;
  EXPECT_THAT(train(1, 2), Each(""));
  EXPECT_THAT(train(8, 2), Each(""));
  for (std::size_t rank = 0; rank < 8; ++rank)  // once to know that it is good, since there is no room for a copy
    EXPECT_LT(reads[rank].bytes, 2 * all / 8 + mebibyte / 4) << rank;
  EXPECT_THAT(train(8, 4), Each(""));
  EXPECT_THAT(train(3, 4), Each(""));
  for (std::size_t rank = 0; rank < 3; ++rank) EXPECT_LT(reads[rank].bytes, 2 * (all / 3 + 2 * mebibyte)) << rank;
}

TEST_F(PartsTest, ARankHasSeveralBlocks) {
  num_blocks = 3;
  EXPECT_THAT(train(2, 2), Each(""));
  EXPECT_EQ(whole_step(), 2);
  num_blocks = 2;
  EXPECT_THAT(train(3, 4), Each(""));
  EXPECT_EQ(whole_step(), 4);
}

TEST_F(PartsTest, ARankMayHaveNoElement) {
  rows = 2;
  EXPECT_THAT(train(3, 2), Each(""));
  EXPECT_EQ(whole_step(), 2);
  EXPECT_THAT(train(8, 4), Each(""));
  EXPECT_EQ(whole_step(), 4);
}

TEST_F(PartsTest, ASaveInTheBackgroundHasTheValuesOfItsStep) {
  in_background = true;
  EXPECT_THAT(train(3, 4), Each(""));
  EXPECT_EQ(whole_step(), 4);
  EXPECT_THAT(train(2, 8), Each(""));
  EXPECT_EQ(whole_step(), 8);
}

TEST_F(PartsTest, AProgramWithoutPartsReadsTheWhole) {
  EXPECT_THAT(train(3, 2), Each(""));
  std::vector<double> field(static_cast<std::size_t>(rows * columns));
  float shared = 0;
  LoopSession loop;
  loop.variable("field", field, {.shape = {rows, columns}});
  loop.variable("shared", shared);
  auto session = monitored_training_session(loop, {.checkpoint_dir = "run", .file_system = &disk});
  EXPECT_EQ(session.global_step(), 2);
  EXPECT_EQ(field.back(), first_value(rows - 1, columns - 1) + 2);
  session.run([&] {
    for (double& value : field) ++value;
    ++shared;
  });
  session.close();
  EXPECT_THAT(train(2, 4), Each(""));
  EXPECT_EQ(whole_step(), 4);
}

TEST_F(PartsTest, AFailingDiskLeavesACheckpointOfAllRanksOrNone) {
  for (const bool background : {false, true}) {
    in_background = background;
    bool was_complete = false;
    for (std::uint64_t operation = 1; !was_complete; operation += 7) {
      empty_disk();
      faulty.reset();
      faulty.fail_from(operation);
      const Strings ends = train(2, 4);
      was_complete = std::ranges::count(ends, "") == 2;
      faulty.reset();
      disk.crash();
      const std::int64_t step = whole_step();
      EXPECT_TRUE(step >= -1 && step <= 4) << step;
      EXPECT_THAT(train(3, 6), Each("")) << operation;
      EXPECT_EQ(whole_step(), 6);
      ASSERT_LT(operation, 10'000U);
    }
  }
}

TEST_F(PartsTest, ADamagedPartOfOneRankTakesAllBackToTheCheckpointBefore) {
  EXPECT_THAT(train(3, 4), Each(""));
  const std::string path = "run/model.ckpt-4.data-00002-of-00003";
  std::string bytes = disk.contents(path);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  disk.write_file(path, bytes);
  EXPECT_THAT(train(3, 6), Each(""));
  EXPECT_EQ(whole_step(), 6);
  EXPECT_EQ(log.count("checkpoint run/model.ckpt-4 is skipped: rank 2"), 1U);
  EXPECT_EQ(log.count("Restored run/model.ckpt-2"), 1U);
}

TEST_F(PartsTest, ADamagedPartThatRulesBringChangesNoElement) {
  std::vector<double> edge(std::size_t{2} << 17, 7.0);  // two pieces of 1 MiB
  std::string name = "edge";
  const auto with_edge = [&](Program& program, int rank) {
    if (rank == 1)
      program.loop.variable(name, edge, {.shape = {2, 1 << 17}, .part_of = {.shape = {2, 1 << 17}, .offset = {0, 0}}});
  };
  EXPECT_THAT(train(2, 2, with_edge), Each(""));
  const std::string path = "run/model.ckpt-2.data-00001-of-00002";
  const std::string good = disk.contents(path);
  const auto expect_refused = [&] {
    for (const std::size_t quarter : {1U, 3U}) {  // in either piece
      std::string bytes = good;
      bytes[bytes.size() / 4 * quarter] ^= 1;
      disk.write_file(path, bytes);
      edge.assign(edge.size(), 0.0);
      EXPECT_THAT(train(2, 4, with_edge), Each(HasSubstr("run/model.ckpt-2"))) << quarter;
      EXPECT_EQ(std::ranges::count(edge, 0.0), std::ssize(edge)) << quarter;
    }
  };
  name = "rim";
  restore = RestoreRules{.rename = {{"edge", "rim"}}};
  expect_refused();
  directory = "other";
  restore = RestoreRules{.from = "run/model.ckpt-2", .rename = {{"edge", "rim"}}};
  expect_refused();
  disk.write_file(path, good);
  EXPECT_THAT(train(2, 4, with_edge), Each(""));
  EXPECT_EQ(std::ranges::count(edge, 7.0), std::ssize(edge));
}

TEST_F(PartsTest, PartsThatOverlapEndAllRanks) {
  std::vector<double> more(8);
  const Strings ends = train(2, 2, [&](Program& program, int rank) {
    if (rank == 1)
      program.loop.variable("more", more,
                            {.shape = {1, 8}, .part_of = {.shape = {24, 8}, .offset = {11, 0}, .name = "field"}});
  });
  EXPECT_THAT(ends,
              Each(AllOf(HasSubstr("the parts 0,12:0,8 of rank 0 and 11,1:0,8 of rank 1 of the tensor 'field' overlap"),
                         HasSubstr("check `offset` of `part_of`"))));
}

TEST_F(PartsTest, ATensorThatIsAnotherOneOnARankEndsAllRanks) {
  std::vector<double> more(8);
  const Strings ends = train(2, 2, [&](Program& program, int rank) {
    if (rank == 1)
      program.loop.variable("more", more,
                            {.shape = {1, 8}, .part_of = {.shape = {25, 8}, .offset = {24, 0}, .name = "field"}});
  });
  EXPECT_THAT(ends, Each(HasSubstr("the tensor 'field' is float64[24,8] on rank 0 and float64[25,8] on rank 1")));
}

TEST_F(PartsTest, ANameThatIsAPartOnOneRankAndAVariableOnAnotherEndsAllRanks) {
  std::vector<double> only(4);
  const Strings ends = train(2, 2, [&](Program& program, int rank) {
    if (rank == 1)
      program.loop.variable("edge", only, {.shape = {1, 4}, .part_of = {.shape = {2, 4}, .offset = {1, 0}}});
    else
      program.loop.variable("edge", only);
  });
  EXPECT_THAT(ends, Each(HasSubstr("the variable 'edge' is whole on this rank, and other ranks have parts")));
}

TEST_F(PartsTest, ASaveOfOneRankAloneIsRefusedAtTheStart) {
  CheckpointManager manager("managed", 3, {.file_system = &disk});
  Saver saver({.file_system = &disk});
  const std::vector<std::pair<std::string, std::shared_ptr<SessionRunHook>>> alone = {
      {"BestCheckpointHook", std::make_shared<BestCheckpointHook>(BestCheckpointHook::Options{.metric = "loss"})},
      {"CheckpointManager", std::make_shared<WithSession>([&](SessionRef session) {
         static_cast<void>(manager.restore_or_initialize(session));
       })},
      {"Saver", std::make_shared<WithSession>([&](SessionRef session) {
         static_cast<void>(saver.save(session, {.save_path = "saved/model"}));
       })}};
  for (const auto& [who, hook] : alone) {
    also = hook;
    EXPECT_THAT(train(2, 2), Each(HasSubstr(who + ": other processes of the job have parts of '" + tensor + "'")));
    empty_disk();
  }
  also = std::make_shared<WithSession>([&](SessionRef session) {  // without the tensor it is one process's business
    static_cast<void>(
        Saver({.var_list = {"shared"}, .file_system = &disk}).save(session, {.save_path = "saved/model"}));
  });
  EXPECT_THAT(train(2, 2), Each(""));
}

TEST_F(PartsTest, ElementsThatNoRankHasAreSaidAndNotSaved) {
  std::vector<double> only(4, 7.0);
  const auto with_edge = [&](Program& program, int rank) {
    if (rank == 1)
      program.loop.variable("edge", only, {.shape = {1, 4}, .part_of = {.shape = {2, 4}, .offset = {1, 0}}});
  };
  EXPECT_THAT(train(2, 2, with_edge), Each(""));
  EXPECT_EQ(log.count("checkpoint run/model.ckpt-2 has 4 of the 8 elements of tensor edge[2,4]: whoever needs another "
                      "one cannot restore it"),
            1U);
  only.assign(4, 0.0);
  EXPECT_THAT(train(2, 4, with_edge), Each(""));
  EXPECT_EQ(only, std::vector<double>(4, 7.0));
}

TEST_F(PartsTest, ATensorOfAnotherSizeInTheCheckpointIsAnError) {
  EXPECT_THAT(train(2, 2), Each(""));
  rows = 20;
  EXPECT_THAT(train(2, 4),
              Each(HasSubstr("variable 'field' is a part of 'field', which is float64[20,8] in the model and "
                             "float64[24,8] in checkpoint run/model.ckpt-2")));
}

TEST_F(PartsTest, RulesOfARestoreReachThePartsOfAllRanks) {
  EXPECT_THAT(train(2, 2), Each(""));
  tensor = "heat";
  EXPECT_THAT(train(3, 4), Each(HasSubstr("has no variable 'heat'")));
  restore = RestoreRules{.rename = {{"field", "heat"}}};
  EXPECT_THAT(train(3, 4), Each(""));
  EXPECT_EQ(whole_step(), 4);
  EXPECT_THAT(train(2, 6), Each("")) << "the rules may stay";
  EXPECT_EQ(whole_step(), 6);
}

TEST_F(PartsTest, ASaveThatIsAskedForWaitsForTheEndOfAStepThatRunsTheSessionItself) {
  runs_inside = true;
  save_steps = 100;
  EXPECT_THAT(train(2, 8), Each(""));
  EXPECT_EQ(whole_step(), 8);
}

TEST_F(PartsTest, ASaveInTheBackgroundUsesTheSnapshotsOfDevicesOnAllRanks) {
  std::vector<std::vector<double>> devices(2, std::vector<double>(4, 1.0));
  std::vector<int> snapshots(2), reads_of(2);
  in_background = true;
  EXPECT_THAT(train(2, 4,
                    [&](Program& program, int rank) {
                      const auto at = static_cast<std::size_t>(rank);
                      program.loop.variable(
                          "device",
                          {.dtype = DType::Double,
                           .shape = {4},
                           .read =
                               [&, at](std::span<std::byte> to) {
                                 ++reads_of[at];
                                 std::ranges::copy(std::as_bytes(std::span(devices[at])), to.begin());
                               },
                           .write =
                               [&, at](std::span<const std::byte> from) {
                                 std::ranges::copy(from, std::as_writable_bytes(std::span(devices[at])).begin());
                               },
                           .snapshot = [&, at]() -> std::function<Tensor()> {
                             ++snapshots[at];
                             return
                                 [copy = Tensor::copy_of(std::span<const double>(devices[at]), {4})] { return copy; };
                           },
                           .part_of = {.shape = {8}, .offset = {4 * rank}}});
                    }),
              Each(""));
  EXPECT_EQ(snapshots[0], snapshots[1]);
  EXPECT_GE(snapshots[1], 1);
  EXPECT_EQ(reads_of[0], reads_of[1]) << "at the end, when no training goes on";
}

}  // namespace
}  // namespace trainhook
