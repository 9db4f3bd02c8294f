// SPDX-License-Identifier: Apache-2.0
/// @file
/// Saver: saves the state of a session in checkpoints and restores it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <trainhook/checkpoint/checkpoint_part.hpp>
#include <trainhook/checkpoint/checkpoint_source.hpp>
#include <trainhook/checkpoint/checkpoint_state.hpp>
#include <trainhook/checkpoint/keep_rule.hpp>
#include <trainhook/checkpoint/restore_policy.hpp>
#include <trainhook/checkpoint/variable_slices.hpp>
#include <trainhook/core/duration.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/core/saveable.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/session/session_ref.hpp>

namespace trainhook {

class Clock;
class Graph;

namespace detail {

class Retention;

}  // namespace detail

/// A session's state at one point in time. With EigenSession it is a list of handles: nothing is copied until training
/// writes again.
struct Snapshot {
  std::vector<NamedTensor> entries{};            ///< names as in the checkpoint, sorted
  detail::VariableSlices slices{};               ///< which of them are parts of partitioned variables
  std::vector<std::function<Tensor()>> later{};  ///< one for each entry, or none: brings its value if it is not here
  std::uint64_t bytes = 0;                       ///< of all values, as far as shapes are known, not counting strings
};

struct SaverOptions {
  std::vector<std::string> var_list{};  ///< names of variables; empty: all state of the kinds below
  std::vector<StateKind> kinds = {StateKind::Variable, StateKind::Auxiliary};
  bool with_saveables = true;  ///< also saves the graph's `saveable_objects` and `inputs_with_model`
  bool sharded = false;  ///< writes several data files, each of about `shard_bytes`; in a job, each rank writes one
                         ///< with its share of the trained variables
  std::uint64_t shard_bytes = std::uint64_t{1} << 30;
  int max_to_keep = 5;  ///< 0 keeps all; removes only checkpoints that a saver wrote and the state file lists
  double keep_checkpoint_every_n_hours = 10'000;  ///< keeps the first one of each so many hours permanently
  KeepRules keep{};                               ///< instead of both: a checkpoint stays as long as a rule keeps it,
                                                  ///< also of those that earlier runs kept by other rules
  bool pad_step_number = false;                   ///< `model.ckpt-00000100`
  bool save_relative_paths = true;                ///< in the state file, so that the directory can be moved
  bool allow_empty = false;                       ///< saving a session without state is not an error
  CheckpointFormat format = open_bundle;          ///< of what it restores; it saves bundles
  bool refuse_non_finite = false;                 ///< NaN or infinity in the state is an error; nothing is written
  FileSystem* file_system = nullptr;              ///< null: the one that `use` sets, or the disk
  Clock* clock = nullptr;
};

/// What a save cost.
struct SaveCost {
  Duration blocked{};       ///< that the loop waited
  Duration written{};       ///< until all bytes were written
  Duration synced{};        ///< from then until the disk had them and the checkpoint was committed
  std::uint64_t bytes = 0;  ///< of this process's values, not counting strings

  /// `4096 bytes written in 0.012 s, synced in 0.009 s; the loop waited 0.021 s`
  [[nodiscard]] TRAINHOOK_DECL std::string to_string() const;
};

/// One save. The checkpoint's prefix is `save_path`, followed by `-<global_step>` if a step is given.
struct SaveRequest {
  std::string save_path{};
  std::optional<std::int64_t> global_step{};
  std::string latest_filename = "checkpoint";  ///< the state file, in the same directory
  bool write_state = true;     ///< false: leaves the state file, old checkpoints and `committed` of the parts alone
  detail::TakenParts parts{};  ///< what is written beside the state
  SaveCost* cost = nullptr;    ///< gets what the save cost; the loop waited as if this was its thread
};

/// Saves and restores variables, the session's other state and the graph's saveables in one bundle. Source: TensorFlow
/// 1's `Saver`. Call `snapshot` and `restore` on the thread that runs the session, the other members on any thread.
class Saver {
 public:
  /// @throws InvalidArgumentError for a negative `max_to_keep`, a period that is not positive, or shards of no bytes.
  TRAINHOOK_DECL explicit Saver(SaverOptions options = {});
  Saver(const Saver&) = delete;
  Saver& operator=(const Saver&) = delete;

  [[nodiscard]] const SaverOptions& options() const noexcept { return options_; }

  /// Sets the session's disk and clock, for a saver whose options have none.
  TRAINHOOK_DECL void use(FileSystem& file_system, Clock& clock);

  /// The disk that it saves to.
  [[nodiscard]] TRAINHOOK_DECL FileSystem& file_system() const;

  /// The current values of everything that this saver saves, without what the parts bring.
  [[nodiscard]] TRAINHOOK_DECL Snapshot snapshot(SessionRef session, const detail::TakenParts& parts = {}) const;

  /// The pieces of the session's state that this saver saves, without what the parts bring.
  /// @throws NotFoundError for a name in `var_list` that the session does not have.
  [[nodiscard]] TRAINHOOK_DECL std::vector<StateSpec> chosen_state(SessionRef session,
                                                                   const detail::TakenParts& parts = {}) const;

  /// The names of the tensors that it saves and that other processes of a job have parts of.
  [[nodiscard]] TRAINHOOK_DECL std::vector<std::string> tensors_of_others(const Graph& graph) const;

  /// @throws FailedPreconditionError if there are such tensors, which a save of this process alone would lack.
  TRAINHOOK_DECL void expect_all_here(const Graph& graph, std::string_view who) const;

  /// The prefix of the checkpoint that `request` would write.
  [[nodiscard]] TRAINHOOK_DECL std::string prefix_of(const SaveRequest& request) const;

  /// Commits a snapshot: writes the bundle, then the state file, then removes old checkpoints, each with a log line.
  /// Returns the prefix; empty if there was nothing to save.
  /// @throws FailedPreconditionError for NaN or infinity with `refuse_non_finite`, or if the state file is to list a
  /// step whose files in that directory are not a saver's, such as a copy: they are not written over.
  TRAINHOOK_DECL std::string write(const Snapshot& snapshot, const SaveRequest& request);

  /// Commits the current state, as `write(snapshot(session), request)` does. In a job with parts only a saver hook can.
  /// If the session returns values one at a time, as LoopSession does, it takes no snapshot, copies only one value at a
  /// time, and none that is row-major in memory.
  TRAINHOOK_DECL std::string save(SessionRef session, const SaveRequest& request);

  /// Finishes the work of a killed process after its last save to this path: lists an unlisted checkpoint, removes
  /// surplus ones. Each save does that too; this is for a run that has nothing more to save.
  TRAINHOOK_DECL void tidy(const std::string& save_path, const std::string& latest_filename = kLatestFilename);

  /// Reads and verifies the whole checkpoint, then restores the saveables, then the session; on an error no variable
  /// changes. Partitioned variables are joined or split. A job's parts of tensors are verified, then read once more to
  /// where they are: if the disk fails only then, they are half read.
  /// @param resumes whether the session trains on. Else, or if another program wrote the checkpoint, generators of a
  /// graph's random ops may be missing: they keep their values, with a log line
  /// @throws DataLossError for a damaged checkpoint, InvalidArgumentError if there is none or a dtype or shape differs,
  /// NotFoundError if state is missing.
  TRAINHOOK_DECL void restore(SessionRef session, const CheckpointSource& from, bool resumes = false) const;

  /// The same from a checkpoint that is open.
  TRAINHOOK_DECL void restore(SessionRef session, const CheckpointContents& contents, bool resumes = false) const;

  /// Logs how many names of the checkpoint restored last nothing in the session took, and the first few, because later
  /// saves leave them out. A save does that, too, if it was not done before.
  TRAINHOOK_DECL void report_left_over() const;

  /// The same names, for another report: they are not logged any more.
  [[nodiscard]] TRAINHOOK_DECL std::vector<std::string> take_left_over() const;

  /// The checkpoints that later saves will delete, oldest first; none if `max_to_keep` is 0, or before the first save.
  [[nodiscard]] TRAINHOOK_DECL std::vector<std::string> last_checkpoints() const;

  /// Sets the checkpoints that count as saved before, oldest first, instead of those in the directory's state file. All
  /// must be of one directory; their names may lack a step. Ignores those that are not on disk.
  TRAINHOOK_DECL void recover_last_checkpoints(const std::vector<std::string>& prefixes,
                                               const std::string& latest_filename = kLatestFilename);

 private:
  struct State;

  [[nodiscard]] TRAINHOOK_DECL Clock& clock() const;
  [[nodiscard]] TRAINHOOK_DECL std::vector<std::shared_ptr<Saveable>> saveables(const Graph& graph) const;

  // Whether the checkpoint has this piece of state, with the right dtype and shape; false if it is missing and may be.
  [[nodiscard]] TRAINHOOK_DECL bool has_entry(const CheckpointContents& contents, const StateSpec& spec,
                                              bool may_lack_generators) const;
  [[noreturn]] TRAINHOOK_DECL void refuse(const CheckpointContents& contents, const StateSpec& missing) const;

  // Of an open checkpoint that was restored, all but the names that were `taken`.
  TRAINHOOK_DECL void set_left_over(const CheckpointContents& contents, std::vector<std::string> taken) const;

  enum class Values { Now, Deferred, OneAtATime };

  // With `OneAtATime` it has no values of the session: `commit` reads them from it.
  [[nodiscard]] TRAINHOOK_DECL Snapshot collect(SessionRef session, std::vector<StateSpec> chosen, Values values) const;
  TRAINHOOK_DECL std::string commit(const Snapshot& snapshot, const SaveRequest& request, SessionRef session);

  TRAINHOOK_DECL void expect_entries(std::string_view what_for, std::size_t count) const;

  TRAINHOOK_DECL void validate(const SaveRequest& request) const;
  TRAINHOOK_DECL detail::Retention& retention(const std::string& save_path, const std::string& latest_filename);

  SaverOptions options_;
  std::shared_ptr<State> state_;  // a shared pointer asks for no destructor here
};

}  // namespace trainhook

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/checkpoint/impl/saver.ipp>
#include <trainhook/checkpoint/impl/saver_restore.ipp>
#endif
