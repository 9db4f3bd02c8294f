// SPDX-License-Identifier: Apache-2.0
/// @file
/// Saver: moves the state of a session into checkpoints and back.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <trainhook/checkpoint/bundle_reader.hpp>
#include <trainhook/checkpoint/bundle_writer.hpp>
#include <trainhook/checkpoint/object_graph_keys.hpp>
#include <trainhook/checkpoint/retention.hpp>
#include <trainhook/core/clock.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/core/saveable.hpp>
#include <trainhook/graph/graph_keys.hpp>
#include <trainhook/session/session_ref.hpp>

namespace trainhook {

/// A session's state at one point in time. With EigenSession a list of handles: no byte moves until training writes again.
struct Snapshot {
  std::vector<NamedTensor> entries{};  ///< names as in the checkpoint, sorted
};

/// Asks a saver to keep one piece of a session's `Input` state in the model's own checkpoint: an item of the collection `saveable_objects`.
struct SessionStateSaveable {
  std::string state_name{};
};

struct SaverOptions {
  std::vector<std::string> var_list{};  ///< names of variables; empty: all of the kinds below
  std::vector<StateKind> kinds = {StateKind::Variable, StateKind::Auxiliary};
  bool with_saveables = true;  ///< also what the graph's `saveable_objects` say
  bool sharded = false;        ///< several data files: one that has `shard_bytes` is followed by another
  std::uint64_t shard_bytes = std::uint64_t{1} << 30;
  int max_to_keep = 5;                            ///< 0 keeps all
  double keep_checkpoint_every_n_hours = 10'000;  ///< of those that would go, one each so many hours stays for ever
  bool pad_step_number = false;                   ///< `model.ckpt-00000100`
  bool save_relative_paths = true;                ///< in the state file, so that the directory can be moved; false: absolute ones stay
  bool allow_empty = false;                       ///< a session without state is no error
  FileSystem* file_system = nullptr;              ///< null: the machine's own, or what `use` says
  Clock* clock = nullptr;
};

/// One save. The checkpoint's prefix is `save_path`, with `-<global_step>` behind it where a step is given.
struct SaveRequest {
  std::string save_path{};
  std::optional<std::int64_t> global_step{};
  std::string latest_filename = "checkpoint";  ///< the state file, in the same directory
  std::string meta_graph{};                    ///< a serialized MetaGraphDef for `<prefix>.meta`; empty: none
  bool write_state = true;                     ///< false: the state file does not hear of it, and nothing old goes
};

/// Saves and restores variables, other state of the session and the graph's saveables in one bundle. Source: TensorFlow 1's `Saver`.
/// `snapshot` and `restore` belong on the thread that runs the session; the rest may be called on any.
class Saver {
 public:
  /// @throws InvalidArgumentError for a negative `max_to_keep`, a period that is not positive, or shards of no bytes.
  explicit Saver(SaverOptions options = {}) : options_(std::move(options)) {
    if (options_.max_to_keep < 0)
      throw InvalidArgumentError("Saver: max_to_keep is ", options_.max_to_keep, "; 0 keeps all, more keeps that many");
    if (!(options_.keep_checkpoint_every_n_hours > 0)) {
      throw InvalidArgumentError("Saver: keep_checkpoint_every_n_hours is ", options_.keep_checkpoint_every_n_hours,
                                 "; it must be above 0");
    }
    if (options_.shard_bytes == 0) throw InvalidArgumentError("Saver: shard_bytes is 0; it must be above 0");
  }

  [[nodiscard]] const SaverOptions& options() const noexcept { return options_; }

  /// The disk and clock of the session at hand, for a saver that was given none of its own.
  void use(FileSystem& file_system, Clock& clock) noexcept {
    lent_file_system_ = &file_system;
    lent_clock_ = &clock;
  }

  /// Everything that this saver saves, as of now.
  [[nodiscard]] Snapshot snapshot(SessionRef session) const {
    std::vector<std::string> names;
    for (const StateSpec& spec : chosen_state(session)) names.push_back(spec.name);
    Snapshot snapshot{session.snapshot(names)};
    for (const std::shared_ptr<Saveable>& saveable : saveables(session.graph())) {
      const StateValues values = saveable->save();
      for (const NamedTensor& entry : values.entries()) snapshot.entries.push_back({entry_name(*saveable, entry.name), entry.tensor});
    }
    std::ranges::sort(snapshot.entries, {}, &NamedTensor::name);
    if (snapshot.entries.empty() && !options_.allow_empty)
      throw InvalidArgumentError("No variables to save: the session has no state of the kinds asked for");
    return snapshot;
  }

  /// Commits a snapshot: bundle first, then the state file, then what is too old goes. Returns the prefix; empty where there was nothing to
  /// save.
  std::string write(const Snapshot& snapshot, const SaveRequest& request) {
    if (snapshot.entries.empty()) return {};
    check(request);
    const std::scoped_lock lock(mutex_);
    const std::string prefix = prefix_of(request);
    BundleWriter writer(prefix,
                        {.file_system = &file_system(), .overwrite = true, .shard_bytes = options_.sharded ? options_.shard_bytes : 0});
    for (const NamedTensor& entry : snapshot.entries) writer.add(entry.name, entry.tensor);
    if (!request.meta_graph.empty()) writer.add_side_file(".meta", request.meta_graph);
    writer.finish();
    if (request.write_state) retention(request.save_path, request.latest_filename).add(prefix, clock().wall_seconds());
    return prefix;
  }

  /// Takes a snapshot and commits it.
  std::string save(SessionRef session, const SaveRequest& request) { return write(snapshot(session), request); }

  /// Reads and verifies the whole checkpoint, gives the saveables their state, then the session its own: where anything is wrong, no
  /// variable has changed. A partitioned variable is joined; variables of an object-based checkpoint are found by their full names.
  /// @throws DataLossError where the checkpoint is damaged, InvalidArgumentError where there is none or a dtype or shape differs,
  /// NotFoundError where a variable is missing.
  void restore(SessionRef session, const std::string& prefix) const {
    const BundleReader reader = open(prefix);
    std::optional<ObjectGraphKeys> full_names;
    if (ObjectGraphKeys::is_object_based(reader)) {
      log_info("checkpoint ", prefix, " is object-based; variables are found in it by their full names");
      full_names.emplace(reader);
    }
    std::vector<NamedTensor> staged;
    for (const StateSpec& spec : chosen_state(session)) {
      if (const auto key = find_entry(reader, full_names, spec)) staged.push_back({spec.name, reader.get_tensor(*key)});
    }
    std::vector<std::pair<std::shared_ptr<Saveable>, StateValues>> states;
    for (const std::shared_ptr<Saveable>& saveable : saveables(session.graph()))
      states.emplace_back(saveable, read_state(reader, *saveable));
    for (const auto& [saveable, state] : states) saveable->load(state);
    session.load(staged);
  }

  /// The checkpoints that later saves let go of, oldest first; none where `max_to_keep` is 0, or before the first save.
  [[nodiscard]] std::vector<std::string> last_checkpoints() const {
    const std::scoped_lock lock(mutex_);
    return retention_ ? retention_->prefixes() : std::vector<std::string>();
  }

  /// Checkpoints of one directory and basename that count as saved earlier, oldest first, instead of those that the directory's state file
  /// lists. What is not on disk does not count.
  /// @throws InvalidArgumentError for a prefix without a step.
  void recover_last_checkpoints(const std::vector<std::string>& prefixes, const std::string& latest_filename = kLatestFilename) {
    if (prefixes.empty()) return;
    const std::string& newest = prefixes.back();
    if (!step_of_checkpoint(newest)) throw InvalidArgumentError("Saver: checkpoint '", newest, "' does not end in a step, as in run/m-100");
    const std::scoped_lock lock(mutex_);
    retention(newest.substr(0, newest.rfind('-')), latest_filename).replace(prefixes);
  }

 private:
  [[nodiscard]] FileSystem& file_system() const {
    FileSystem* const chosen = options_.file_system != nullptr ? options_.file_system : lent_file_system_.load();
    return chosen != nullptr ? *chosen : posix_file_system();
  }
  [[nodiscard]] Clock& clock() const {
    Clock* const chosen = options_.clock != nullptr ? options_.clock : lent_clock_.load();
    return chosen != nullptr ? *chosen : system_clock();
  }

  [[nodiscard]] static std::string entry_name(const Saveable& saveable, const std::string& value) {
    return value.empty() ? saveable.name() : saveable.name() + "/" + value;
  }

  [[nodiscard]] std::vector<std::shared_ptr<Saveable>> saveables(const Graph& graph) const {
    if (!options_.with_saveables || !options_.var_list.empty()) return {};
    return graph.collection<std::shared_ptr<Saveable>>(graph_keys::kSaveableObjects);
  }

  // What of the session's state this saver is about. @throws NotFoundError for a name of var_list that the session does not have.
  [[nodiscard]] std::vector<StateSpec> chosen_state(SessionRef session) const {
    std::vector<StateSpec> all = session.state();
    std::vector<std::string> wanted = options_.var_list;
    const auto has = [](const auto& list, const auto& item) { return std::ranges::find(list, item) != list.end(); };
    for (const std::string& name : wanted) {
      if (std::ranges::find(all, name, &StateSpec::name) == all.end())
        throw NotFoundError("Saver: var_list names '", name, "', which the session does not have");
    }
    const bool by_kind = wanted.empty();
    if (by_kind && options_.with_saveables) {
      for (const auto& item : session.graph().collection<SessionStateSaveable>(graph_keys::kSaveableObjects))
        wanted.push_back(item.state_name);
    }
    std::erase_if(all, [&](const StateSpec& spec) { return !(by_kind && has(options_.kinds, spec.kind)) && !has(wanted, spec.name); });
    return all;
  }

  [[nodiscard]] BundleReader open(const std::string& prefix) const {
    try {
      return BundleReader(prefix, {.file_system = &file_system()});
    } catch (const NotFoundError& error) { throw InvalidArgumentError(prefix, " is not a valid checkpoint: ", error.what()); }
  }

  // Under which name the checkpoint has this piece of state, in the right dtype and shape; nothing where it may do without.
  static std::optional<std::string> find_entry(const BundleReader& reader, const std::optional<ObjectGraphKeys>& full_names,
                                               const StateSpec& spec) {
    std::string key = spec.name;
    if (!reader.has_tensor(key)) {
      const bool has_full_name = full_names && full_names->keys().contains(spec.name);
      if (spec.kind == StateKind::Input && !has_full_name) {
        throw NotFoundError("checkpoint ", reader.prefix(), " has no position of the input '", spec.name, "'; ",
                            detail::suggest_keys(reader.entries(), spec.name),
                            " (give the iterator the name that it had, or train into another directory)");
      }
      if (spec.kind != StateKind::Variable && !has_full_name) {
        log_warning("checkpoint ", reader.prefix(), " has nothing for '", spec.name, "'; it keeps its present value");
        return std::nullopt;
      }
      if (!full_names) {
        throw NotFoundError("checkpoint ", reader.prefix(), " has no variable '", spec.name,
                            "'; it was written by another model, so restore it into that one or train into another directory");
      }
      key = full_names->key(spec.name);
    }
    const BundleEntry& entry = reader.entry(key);
    if (entry.dtype != spec.dtype || !spec.shape.compatible_with(entry.shape)) {
      throw InvalidArgumentError("variable '", spec.name, "' is ", dtype_name(spec.dtype), spec.shape, " in the model and ",
                                 dtype_name(entry.dtype), entry.shape, " in checkpoint ", reader.prefix(),
                                 "; restore it into the model that wrote it");
    }
    return key;
  }

  static StateValues read_state(const BundleReader& reader, const Saveable& saveable) {
    const std::string name = saveable.name();
    StateValues values;
    if (reader.has_tensor(name)) values.set("", reader.get_tensor(name));
    const std::string beginning = name + "/";
    for (auto entry = reader.entries().lower_bound(beginning); entry != reader.entries().end() && entry->first.starts_with(beginning);
         ++entry) {
      values.set(entry->first.substr(beginning.size()), reader.get_tensor(entry->first));
    }
    return values;
  }

  void check(const SaveRequest& request) const {
    if (request.latest_filename.empty() || request.latest_filename.find('/') != std::string::npos) {
      throw InvalidArgumentError("Saver: latest_filename is '", request.latest_filename, "'; it must be a file name without directory");
    }
    if (base_name(request.save_path) == request.latest_filename && !request.global_step && !options_.sharded) {
      throw InvalidArgumentError("Saver: save_path '", request.save_path, "' collides with the state file '", request.latest_filename,
                                 "'; choose another");
    }
    if (request.global_step && *request.global_step < 0)
      throw InvalidArgumentError("Saver: global_step is ", *request.global_step, "; it must not be negative");
  }

  [[nodiscard]] std::string prefix_of(const SaveRequest& request) const {
    if (!request.global_step) return request.save_path;
    std::string digits = str_cat(*request.global_step);
    if (options_.pad_step_number && digits.size() < 8) digits.insert(0, 8 - digits.size(), '0');
    return request.save_path + "-" + digits;
  }

  Retention& retention(const std::string& save_path, const std::string& latest_filename) {
    if (!retention_ || retention_->state_file() != join_path(parent_path(save_path), latest_filename) ||
        &retention_->file_system() != &file_system()) {
      retention_.emplace(file_system(), save_path, latest_filename,
                         RetentionPolicy{.max_to_keep = options_.max_to_keep,
                                         .keep_checkpoint_every_n_hours = options_.keep_checkpoint_every_n_hours,
                                         .save_relative_paths = options_.save_relative_paths});
    }
    return *retention_;
  }

  SaverOptions options_;
  std::atomic<FileSystem*> lent_file_system_ = nullptr;
  std::atomic<Clock*> lent_clock_ = nullptr;
  mutable std::mutex mutex_;            // several hooks may share a saver, each with a thread that writes
  std::optional<Retention> retention_;  // of the last checkpoint's state file
};

}  // namespace trainhook
