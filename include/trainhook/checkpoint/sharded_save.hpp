// SPDX-License-Identifier: Apache-2.0
/// @file
/// ShardedSave: a checkpoint that the ranks of a job write together, each a data file of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <trainhook/checkpoint/bundle_writer.hpp>
#include <trainhook/checkpoint/other_parts.hpp>
#include <trainhook/checkpoint/variable_slices.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/saveable.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/session/session_ref.hpp>

namespace trainhook {

class FileSystem;
class Graph;

}  // namespace trainhook

namespace trainhook::detail {

/// What the chief tells the other ranks of such a checkpoint.
struct ShardedSave {
  std::string prefix{};
  std::string suffix{};  ///< of the temporary names of all data files; no other save has it
  /// Of the variables of each rank, sorted. Rank 0, which has none here, writes all others.
  std::vector<std::vector<std::string>> names{};
  bool refuse_non_finite = false;
  bool later = false;  ///< the state is taken now and written while training goes on

  /// How many ranks write; they are the first ones.
  [[nodiscard]] std::size_t num_parts() const noexcept { return names.size(); }

  [[nodiscard]] BundlePart part_of(std::uint32_t rank) const {
    return {.suffix = suffix, .number = rank, .count = static_cast<std::uint32_t>(num_parts())};
  }
};

/// As bytes, and back. @throws DataLossError for bytes that are not such a message, or lack a name.
[[nodiscard]] TRAINHOOK_DECL std::string sharded_save_bytes(const ShardedSave& save);
[[nodiscard]] TRAINHOOK_DECL ShardedSave sharded_save_in(std::string_view bytes);

/// Divides among at most `ranks` ranks what must be the same on all of them: variables that are trained, and what has a
/// name below one of theirs, as slots of optimizers. Each rank has about as many bytes: the largest first, each to the
/// rank that has least. All else, such as a moving average of each rank's own batches, is the chief's.
[[nodiscard]] TRAINHOOK_DECL std::vector<std::vector<std::string>> divide_by_bytes(const std::vector<StateSpec>& state,
                                                                                   const Graph& graph, int ranks);

/// The data file of one rank other than the chief. It is removed with this object, unless the chief has taken it.
class ShardOfRank {
 public:
  /// Writes the variables at once, or takes a snapshot and writes that on a thread of its own. Errors are for `take`.
  /// Call it, and the destructor, on the thread that runs the session.
  TRAINHOOK_DECL ShardOfRank(SessionRef session, const ShardedSave& save, int rank, FileSystem& file_system);
  ShardOfRank(const ShardOfRank&) = delete;
  ShardOfRank& operator=(const ShardOfRank&) = delete;
  TRAINHOOK_DECL ~ShardOfRank();

  /// Whether that thread is still at it.
  [[nodiscard]] TRAINHOOK_DECL bool is_writing() const;

  /// Waits until the file is durable, and returns what the chief needs for the index; from now on the file is the
  /// chief's. @throws what went wrong.
  [[nodiscard]] TRAINHOOK_DECL std::string take();

 private:
  TRAINHOOK_DECL std::string write(SessionRef session, const ShardedSave& save, const VariableSlices& slices,
                                   const std::vector<NamedTensor>& snapshot, FileSystem& file_system);

  BundlePart part_;
  std::unique_ptr<BundleWriter> writer_;
  std::packaged_task<std::string()> write_;
  std::future<std::string> index_;
  std::thread thread_;
};

/// The parts of the other ranks in the hands of the chief, whose loop's thread gets them and whose writer's thread may
/// wait for them. Files that `add_to` has not handed on are removed with this object.
class PartsOfOthers final : public OtherParts {
 public:
  TRAINHOOK_DECL PartsOfOthers(ShardedSave save, FileSystem& file_system);
  PartsOfOthers(const PartsOfOthers&) = delete;
  PartsOfOthers& operator=(const PartsOfOthers&) = delete;
  TRAINHOOK_DECL ~PartsOfOthers() override;

  [[nodiscard]] const ShardedSave& save() const noexcept { return save_; }

  [[nodiscard]] TRAINHOOK_DECL bool has(const std::string& name) const override;
  [[nodiscard]] const BundlePart& own() const noexcept override { return own_; }
  TRAINHOOK_DECL void add_to(BundleWriter& writer) override;

  /// Called first by `add_to`; for a save that is committed on the loop's thread.
  void fetch_by(std::function<void()> fetch) { fetch_ = std::move(fetch); }

  /// What the ranks from 1 on have written, in their order; or why one of them has not. The first call counts.
  TRAINHOOK_DECL void set(std::vector<std::string> parts);
  TRAINHOOK_DECL void fail(const std::exception_ptr& error);

 private:
  ShardedSave save_;
  BundlePart own_;
  std::vector<std::string> names_;  // of all ranks, sorted
  std::function<void()> fetch_;
  FileSystem* file_system_;
  bool is_set_ = false;
  bool is_waited_for_ = false;
  std::promise<std::vector<std::string>> promise_;
  std::future<std::vector<std::string>> parts_;
};

}  // namespace trainhook::detail

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/checkpoint/impl/sharded_save.ipp>
#endif
