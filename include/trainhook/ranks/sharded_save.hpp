// SPDX-License-Identifier: Apache-2.0
/// @file
/// ShardedSave: a checkpoint that the ranks of a job write together, each one data file. RankShards: all of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <trainhook/checkpoint/bundle/bundle_writer.hpp>
#include <trainhook/checkpoint/saver.hpp>
#include <trainhook/checkpoint/variable_slices.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/process_mark.hpp>
#include <trainhook/core/saveable.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/core/thread.hpp>
#include <trainhook/session/session_ref.hpp>

namespace trainhook {

class FileSystem;
class Graph;

}  // namespace trainhook

namespace trainhook::detail {

/// The chief's message to the other ranks about such a checkpoint.
struct ShardedSave {
  std::string prefix{};
  std::string suffix{};  ///< of the temporary names of all data files; unique to this save
  /// The variables that each rank writes, sorted. The entry of rank 0 is empty: it writes all others.
  std::vector<std::vector<std::string>> names{};
  std::vector<std::string> tensors{};  ///< each rank also writes its own parts of these
  bool refuse_non_finite = false;
  bool later = false;  ///< takes the state now and writes it while training continues

  /// The number of ranks that write: ranks 0 to `num_parts() - 1`.
  [[nodiscard]] std::size_t num_parts() const noexcept { return names.size(); }

  [[nodiscard]] BundlePart part_of(std::uint32_t rank) const {
    return {.suffix = suffix,
            .number = rank,
            .count = static_cast<std::uint32_t>(num_parts()),
            .may_have_gaps = !tensors.empty()};
  }
};

/// Converts the message to bytes and back. @throws DataLossError for bytes that are not such a message, or lack a name.
[[nodiscard]] TRAINHOOK_DECL std::string sharded_save_bytes(const ShardedSave& save);
[[nodiscard]] TRAINHOOK_DECL ShardedSave sharded_save_in(std::string_view bytes);

/// Divides the variables that are equal on all ranks among at most `ranks` ranks. Each rank gets about the same number
/// of bytes: the largest variable first, each to the rank with the fewest bytes. The chief writes all others.
[[nodiscard]] TRAINHOOK_DECL std::vector<std::vector<std::string>> divide_by_bytes(const std::vector<StateSpec>& state,
                                                                                   const Graph& graph, int ranks);

/// The data file of one rank other than the chief. The destructor removes it unless the chief has taken it.
class ShardOfRank {
 public:
  /// Writes the variables at once, or takes a snapshot and writes it on a background thread. `take` throws errors. Call
  /// it, and the destructor, on the thread that runs the session.
  TRAINHOOK_DECL ShardOfRank(SessionRef session, const ShardedSave& save, int rank, FileSystem& file_system);
  ShardOfRank(const ShardOfRank&) = delete;
  ShardOfRank& operator=(const ShardOfRank&) = delete;
  TRAINHOOK_DECL ~ShardOfRank();

  /// Whether the background thread is still writing.
  [[nodiscard]] TRAINHOOK_DECL bool is_writing() const;

  /// Waits until the file is durable and returns the bytes that the chief needs for the index. The chief then owns the
  /// file. @throws the error of writing it.
  [[nodiscard]] TRAINHOOK_DECL std::string take();

 private:
  using Values = std::vector<std::pair<std::string, std::function<Tensor()>>>;  // by name; empty: read when written

  TRAINHOOK_DECL std::string write(SessionRef session, const ShardedSave& save, const VariableSlices& slices,
                                   const Values& values, FileSystem& file_system);

  BundlePart part_;
  std::unique_ptr<BundleWriter> writer_;
  std::packaged_task<std::string()> write_;
  std::future<std::string> index_;
  Thread thread_;
};

/// The other ranks' parts at the chief. The loop's thread receives them; the writer's thread may wait for them. The
/// destructor removes files that `add_to` has not passed on.
class PartsOfOthers final : public CheckpointPart::Taken {
 public:
  TRAINHOOK_DECL PartsOfOthers(ShardedSave save, FileSystem& file_system);
  TRAINHOOK_DECL ~PartsOfOthers() override;

  [[nodiscard]] const ShardedSave& save() const noexcept { return save_; }

  [[nodiscard]] TRAINHOOK_DECL bool brings(const std::string& variable) const override;
  [[nodiscard]] const BundlePart* data_file() const noexcept override { return &own_; }

  /// Waits for the ranks. @throws the error of one.
  TRAINHOOK_DECL void add_to(BundleWriter& writer) override;

  /// Sets a function that `add_to` calls first, for a save that is committed on the loop's thread.
  void fetch_by(std::function<void()> fetch) { fetch_ = std::move(fetch); }

  /// Sets the results of the ranks from 1 on, in order, or the error of one of them. Only the first call counts.
  TRAINHOOK_DECL void set(std::vector<std::string> parts);
  TRAINHOOK_DECL void fail(const std::exception_ptr& error);

 private:
  ProcessMark process_;
  ShardedSave save_;
  BundlePart own_;
  std::vector<std::string> names_;  // the variables of all ranks, sorted
  std::function<void()> fetch_;
  FileSystem* file_system_;
  bool is_set_ = false;
  bool is_waited_for_ = false;
  std::promise<std::vector<std::string>> promise_;
  std::future<std::vector<std::string>> parts_;
};

/// The checkpoints that the ranks of a job are writing together; one per rank. Every rank knows the same checkpoints,
/// from the chief's order to write until its order to hand over the parts. A checkpoint whose commit has failed is then
/// dropped, and its files are removed.
class RankShards {
 public:
  explicit RankShards(int rank) : rank_(rank) {}

  [[nodiscard]] bool are_awaited() const noexcept { return !shards_.empty(); }
  [[nodiscard]] TRAINHOOK_DECL bool is_writing() const;

  /// On every rank: writes this rank's part, or starts to. `give` throws errors.
  TRAINHOOK_DECL void begin(const ShardedSave& save, SessionRef session, FileSystem& file_system);

  /// On every rank: waits until all parts are written and returns them, except those that the order drops.
  [[nodiscard]] TRAINHOOK_DECL std::string give(std::string_view order);

  /// On the chief: sets the receiver of the parts of the save that starts, while it exists.
  TRAINHOOK_DECL void await_parts(const std::shared_ptr<PartsOfOthers>& parts);

  /// On the chief: the order for `give`, and the results of all ranks. @throws DataLossError for invalid bytes.
  [[nodiscard]] TRAINHOOK_DECL std::string order();
  TRAINHOOK_DECL void take(const std::vector<std::string>& given);

  /// No more parts can be handed over: receivers that wait get the error.
  TRAINHOOK_DECL void cancel(const std::exception_ptr& error) noexcept;

 private:
  int rank_;
  std::map<std::string, std::unique_ptr<ShardOfRank>, std::less<>> shards_;  // by suffix; null: this rank has no part
  std::map<std::string, std::weak_ptr<PartsOfOthers>> expected_;             // by suffix, on the chief
  std::vector<std::shared_ptr<PartsOfOthers>> ordered_;                      // those of the order, not dropped
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/ranks/impl/sharded_save.ipp>
#endif
