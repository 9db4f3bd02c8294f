// SPDX-License-Identifier: Apache-2.0
/// @file
/// Saver: moves the state of a session into checkpoints and back.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <trainhook/checkpoint/bundle_reader.hpp>
#include <trainhook/checkpoint/checkpoint_state.hpp>
#include <trainhook/checkpoint/object_graph_keys.hpp>
#include <trainhook/checkpoint/retention.hpp>
#include <trainhook/checkpoint/variable_slices.hpp>
#include <trainhook/core/clock.hpp>
#include <trainhook/core/function_ref.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/saveable.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/io/file_system.hpp>
#include <trainhook/session/session_ref.hpp>

namespace trainhook {

class BundleWriter;

namespace detail {

class OtherParts;

}  // namespace detail

/// A session's state at one point in time. With EigenSession a list of handles: no byte moves until training writes
/// again.
struct Snapshot {
  std::vector<NamedTensor> entries{};  ///< names as in the checkpoint, sorted
  detail::VariableSlices slices{};     ///< which of them are parts of partitioned variables
};

/// Asks a saver to keep one piece of a session's `Input` state in the model's own checkpoint: an item of the collection
/// `saveable_objects`.
struct SessionStateSaveable {
  std::string state_name{};
};

struct SaverOptions {
  std::vector<std::string> var_list{};  ///< names of variables; empty: all state of the kinds below
  std::vector<StateKind> kinds = {StateKind::Variable, StateKind::Auxiliary};
  bool with_saveables = true;  ///< also what the graph's `saveable_objects` say
  bool sharded = false;        ///< several data files: one that has `shard_bytes` is followed by another; of a job of
                               ///< several ranks, each writes one with its share of what is trained
  std::uint64_t shard_bytes = std::uint64_t{1} << 30;
  int max_to_keep = 5;  ///< 0 keeps all; removed are only checkpoints that a saver wrote and the state file lists
  double keep_checkpoint_every_n_hours = 10'000;  ///< of those to be removed, one in this many hours is kept for ever
  bool pad_step_number = false;                   ///< `model.ckpt-00000100`
  bool save_relative_paths =
      true;                        ///< in the state file, so that the directory can be moved; false: absolute ones stay
  bool allow_empty = false;        ///< a session without state is not an error
  bool refuse_non_finite = false;  ///< a state with NaN or infinity is not written, but an error
  FileSystem* file_system = nullptr;  ///< null: what `use` sets, or the disk
  Clock* clock = nullptr;
};

/// One save. The checkpoint's prefix is `save_path`, followed by `-<global_step>` if a step is given.
struct SaveRequest {
  std::string save_path{};
  std::optional<std::int64_t> global_step{};
  std::string latest_filename = "checkpoint";  ///< the state file, in the same directory
  std::string meta_graph{};                    ///< a serialized MetaGraphDef for `<prefix>.meta`; empty: none
  bool write_state = true;                     ///< false: leaves the state file and old checkpoints alone
  std::vector<NamedTensor> extra{};            ///< written as well; a restore ignores them
  std::function<void()> before_commit{};       ///< called once the data is written; if it throws, nothing is committed
  std::shared_ptr<detail::OtherParts> others{};  ///< what of it the other ranks of a job write
};

/// Saves and restores variables, other state of the session and the graph's saveables in one bundle. Source: TensorFlow
/// 1's `Saver`. Call `snapshot` and `restore` on the thread that runs the session, the other members on any thread.
class Saver {
 public:
  /// @throws InvalidArgumentError for a negative `max_to_keep`, a period that is not positive, or shards of no bytes.
  TRAINHOOK_DECL explicit Saver(SaverOptions options = {});

  [[nodiscard]] const SaverOptions& options() const noexcept { return options_; }

  /// Sets the disk and clock of the session, for a saver whose options have none.
  TRAINHOOK_DECL void use(FileSystem& file_system, Clock& clock);

  /// The disk that it saves to.
  [[nodiscard]] TRAINHOOK_DECL FileSystem& file_system() const;

  /// Everything that this saver saves, as of now, less what the other ranks of a job write.
  [[nodiscard]] TRAINHOOK_DECL Snapshot snapshot(SessionRef session, const detail::OtherParts* others = nullptr) const;

  /// What of the session's state this saver saves, less what the other ranks of a job write.
  /// @throws NotFoundError for a name of `var_list` that the session does not have.
  [[nodiscard]] TRAINHOOK_DECL std::vector<StateSpec> chosen_state(SessionRef session,
                                                                   const detail::OtherParts* others = nullptr) const;

  /// The prefix of the checkpoint that such a request makes.
  [[nodiscard]] TRAINHOOK_DECL std::string prefix_of(const SaveRequest& request) const;

  /// Commits a snapshot: bundle first, then the state file, then old checkpoints are removed, each with a line in the
  /// log. Returns the prefix; empty if there was nothing to save.
  /// @throws FailedPreconditionError for NaN or infinity, if the options refuse them.
  TRAINHOOK_DECL std::string write(const Snapshot& snapshot, const SaveRequest& request);

  /// Commits the present state, as `write(snapshot(session), request)` does. From a session that gives its values one
  /// after the other, as LoopSession does, it takes no snapshot: there is one copy of one value at a time.
  TRAINHOOK_DECL std::string save(SessionRef session, const SaveRequest& request);

  /// Does what a process that was killed had left to do after its last save into this path: lists what it had not
  /// listed, removes what is too much. Saves do that, too; this is for a run that has nothing to save any more.
  TRAINHOOK_DECL void tidy(const std::string& save_path, const std::string& latest_filename = kLatestFilename);

  /// Reads and verifies the whole checkpoint, gives the saveables their state, then the session its own: if anything
  /// is wrong, no variable changes. A partitioned variable is joined, or cut as the graph's parts are; variables of an
  /// object-based checkpoint are found by their full names.
  /// @param own for a rank of a job that has its variables from the chief: where the checkpoint has what is the rank's
  /// own, which is used in place of the chief's; variables other than strings are not read
  /// @throws DataLossError if the checkpoint is damaged, InvalidArgumentError if there is none or a dtype or shape
  /// differs, NotFoundError if a variable is missing.
  TRAINHOOK_DECL void restore(SessionRef session, const std::string& prefix, const std::string& own = {}) const;

  /// The checkpoints that later saves will delete, oldest first; none if `max_to_keep` is 0, or before the first save.
  [[nodiscard]] TRAINHOOK_DECL std::vector<std::string> last_checkpoints() const;

  /// Checkpoints of one directory, with or without a step in their names, that count as saved earlier, oldest first,
  /// instead of those that the directory's state file lists. What is not on disk does not count.
  TRAINHOOK_DECL void recover_last_checkpoints(const std::vector<std::string>& prefixes,
                                               const std::string& latest_filename = kLatestFilename);

 private:
  [[nodiscard]] TRAINHOOK_DECL Clock& clock() const;
  [[nodiscard]] TRAINHOOK_DECL std::vector<std::shared_ptr<Saveable>> saveables(const Graph& graph) const;

  [[nodiscard]] TRAINHOOK_DECL BundleReader open(const std::string& prefix, BundleFiles files) const;

  // Under which name the checkpoint has this piece of state, in the right dtype and shape; nothing if it may be
  // missing.
  TRAINHOOK_DECL static std::optional<std::string_view> find_entry(const BundleReader& reader,
                                                                   const std::optional<ObjectGraphKeys>& full_names,
                                                                   const StateSpec& spec, const std::string& own);

  // What a saveable of that name has saved.
  TRAINHOOK_DECL static StateValues read_state(const BundleReader& reader, const std::string& name);

  // Adds what the graph's saveables give now, by name in the checkpoint.
  TRAINHOOK_DECL void add_saveables(const Graph& graph, std::vector<NamedTensor>& entries) const;

  TRAINHOOK_DECL void expect_entries(std::size_t count) const;

  using AddTensor = FunctionRef<void(const std::string& name, const Tensor& tensor)>;

  // Writes one checkpoint, whose tensors `add_entries` gives; about `expected_bytes`, strings not counted.
  TRAINHOOK_DECL std::string commit(const SaveRequest& request, std::uint64_t expected_bytes,
                                    const detail::VariableSlices& slices,
                                    FunctionRef<void(const AddTensor&)> add_entries);
  TRAINHOOK_DECL void check(const SaveRequest& request) const;
  TRAINHOOK_DECL static void expect_possible(const std::string& global_step, const std::vector<NamedTensor>& staged,
                                             const std::string& prefix);
  TRAINHOOK_DECL detail::Retention& retention(const std::string& save_path, const std::string& latest_filename);

  SaverOptions options_;
  std::atomic<FileSystem*> lent_file_system_ = nullptr;
  std::atomic<Clock*> lent_clock_ = nullptr;
  std::atomic<double> started_ = 0;             // by the clock in use: keep_checkpoint_every_n_hours begins here
  mutable std::mutex mutex_;                    // several hooks may share a saver, each with a thread that writes
  std::optional<detail::Retention> retention_;  // of the last checkpoint's state file
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/checkpoint/impl/saver.ipp>
#endif
