// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/checkpoint/saver.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <iterator>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include <trainhook/checkpoint/bundle/bundle_shards.hpp>
#include <trainhook/checkpoint/bundle/bundle_writer.hpp>
#include <trainhook/checkpoint/checkpoint_directory.hpp>
#include <trainhook/checkpoint/non_finite.hpp>
#include <trainhook/core/clock.hpp>
#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/core/names_in_messages.hpp>
#include <trainhook/core/process_mark.hpp>
#include <trainhook/core/shape.hpp>
#include <trainhook/core/shared.hpp>
#include <trainhook/core/user_call.hpp>
#include <trainhook/graph/graph.hpp>
#include <trainhook/graph/saved_input.hpp>
#include <trainhook/io/path.hpp>
#include <trainhook/io/posix_file_system.hpp>
#include <trainhook/io/whole_file.hpp>

namespace trainhook::detail {

/// The data file that this process writes if other processes write others; null: all are its own.
inline const BundlePart* data_file_among(const TakenParts& parts) {
  for (const auto& part : parts)
    if (const BundlePart* const file = part->data_file()) return file;
  return nullptr;
}

inline bool is_brought_by(const TakenParts& parts, const std::string& variable) {
  return std::ranges::any_of(parts, [&](const auto& part) { return part->brings(variable); });
}

}  // namespace trainhook::detail

namespace trainhook {

struct Saver::State {
  explicit State(FileSystem& own_file_system) : file_system(own_file_system) {}

  void expect_here() const { process.expect_here("this Saver"); }

  detail::ProcessMark process;
  FileSystem& file_system;  // at the directory that was current when the saver was made
  std::atomic<FileSystem*> lent_file_system = nullptr;
  std::atomic<Clock*> lent_clock = nullptr;
  std::atomic<double> started = 0;             // the first period of keep_checkpoint_every_n_hours starts here
  std::mutex mutex;                            // several hooks with background threads may share a saver
  std::string restored;                        // the checkpoint that has `left_over`
  std::vector<std::string> left_over;          // see take_left_over
  std::optional<detail::Retention> retention;  // for the last checkpoint's state file
};

std::string SaveCost::to_string() const {
  const auto seconds = [](Duration time) { return std::chrono::duration<double>(time).count(); };
  return fmt::format("{} bytes written in {:.3f} s, synced in {:.3f} s; the loop waited {:.3f} s", bytes,
                     seconds(written), seconds(synced), seconds(blocked));
}

Saver::Saver(SaverOptions options)
    : options_(std::move(options)),
      state_(detail::make_shared_object<State>(detail::given_or_posix(options_.file_system))) {
  if (options_.max_to_keep < 0)
    throw InvalidArgumentError("Saver: max_to_keep is {}; 0 keeps all, more keeps that many", options_.max_to_keep);
  if (!(options_.keep_checkpoint_every_n_hours > 0)) {
    throw InvalidArgumentError("Saver: keep_checkpoint_every_n_hours is {}; it must be above 0",
                               options_.keep_checkpoint_every_n_hours);
  }
  const SaverOptions defaults;
  if (!options_.keep.empty() && (options_.max_to_keep != defaults.max_to_keep ||
                                 options_.keep_checkpoint_every_n_hours != defaults.keep_checkpoint_every_n_hours))
    throw InvalidArgumentError(
        "Saver: keep is given, and max_to_keep or keep_checkpoint_every_n_hours; give rules alone, such as LatestN");
  if (options_.shard_bytes == 0) throw InvalidArgumentError("Saver: shard_bytes is 0; it must be above 0");
  state_->started = clock().wall_seconds();
}

void Saver::use(FileSystem& file_system, Clock& clock) {
  const Clock* const before = &this->clock();
  state_->lent_file_system = &file_system;
  state_->lent_clock = &clock;
  if (&this->clock() != before) state_->started = this->clock().wall_seconds();
}

std::vector<std::string> Saver::tensors_of_others(const Graph& graph) const {
  std::vector<std::string> tensors;
  for (const auto& offered : graph.offered<detail::TensorsOfOthers>()) tensors = offered->names;
  if (tensors.empty() ||
      (options_.var_list.empty() && std::ranges::find(options_.kinds, StateKind::Variable) != options_.kinds.end()))
    return tensors;
  std::vector<std::string> wanted = options_.var_list;
  const detail::VariableSlices slices(graph);
  for (const std::string& name : options_.var_list)
    if (const SaveSliceInfo* const part = slices.find(name)) wanted.push_back(part->full_name);
  std::erase_if(tensors, [&](const std::string& tensor) { return std::ranges::find(wanted, tensor) == wanted.end(); });
  return tensors;
}

void Saver::expect_all_here(const Graph& graph, std::string_view who) const {
  const std::vector<std::string> tensors = tensors_of_others(graph);
  if (tensors.empty()) return;
  throw FailedPreconditionError(
      "{}: other processes of the job have parts of '{}', which a save of this one alone would lack; let the saver of "
      "the session save (save_checkpoint_steps), or leave the tensor out (var_list)",
      who, tensors[0]);
}

Snapshot Saver::snapshot(SessionRef session, const detail::TakenParts& parts) const {
  if (detail::data_file_among(parts) == nullptr) expect_all_here(session.graph(), "Saver");
  return collect(session, chosen_state(session, parts), Values::Deferred);
}

std::string Saver::save(SessionRef session, const SaveRequest& request) {
  if (detail::data_file_among(request.parts) == nullptr) expect_all_here(session.graph(), "Saver");
  std::vector<StateSpec> chosen = chosen_state(session, request.parts);
  const bool one_at_a_time = session.gives_saved_values();
  const Snapshot snapshot = detail::call_in_context("saving " + prefix_of(request), [&] {
    return collect(session, std::move(chosen), one_at_a_time ? Values::OneAtATime : Values::Now);
  });
  return commit(snapshot, request, one_at_a_time ? session : SessionRef());
}

std::string Saver::write(const Snapshot& snapshot, const SaveRequest& request) { return commit(snapshot, request, {}); }

Snapshot Saver::collect(SessionRef session, std::vector<StateSpec> chosen, Values values) const {
  Snapshot snapshot{.slices = detail::VariableSlices(session.graph())};
  std::vector<NamedTensor>& entries = snapshot.entries;
  std::vector<std::string> now;
  std::vector<std::string> deferred;
  std::vector<std::function<Tensor()>> reads;
  for (StateSpec& spec : chosen) {
    std::function<Tensor()> read;
    if (values == Values::Deferred) read = session.deferred_value(spec.name);
    if (!read && values != Values::OneAtATime) {
      now.push_back(std::move(spec.name));
      continue;
    }
    if (spec.shape.is_fully_known()) {
      snapshot.bytes += dtype_size(spec.dtype) * static_cast<std::uint64_t>(spec.shape.known().num_elements());
    } else {
      snapshot.bytes += session.memory(spec.name).bytes.size();
    }
    if (read) {
      deferred.push_back(spec.name);
      reads.push_back(std::move(read));
    }
    entries.push_back({std::move(spec.name), Tensor()});
  }
  if (!now.empty()) std::ranges::move(session.snapshot(now), std::back_inserter(entries));
  for (const std::shared_ptr<Saveable>& saveable : saveables(session.graph()))
    std::ranges::move(detail::entries_of(*saveable), std::back_inserter(entries));
  std::ranges::sort(entries, {}, &NamedTensor::name);
  for (const NamedTensor& entry : entries) snapshot.bytes += entry.tensor.byte_size();
  if (!deferred.empty()) snapshot.later.resize(entries.size());
  for (std::size_t i = 0; i < reads.size(); ++i) {
    const auto entry = std::ranges::lower_bound(entries, deferred[i], {}, &NamedTensor::name);
    snapshot.later[static_cast<std::size_t>(entry - entries.begin())] = std::move(reads[i]);
  }
  expect_entries("save", entries.size());
  return snapshot;
}

void Saver::expect_entries(std::string_view what_for, std::size_t count) const {
  if (count == 0 && !options_.allow_empty)
    throw InvalidArgumentError("No variables to {}: the session has no state of the kinds asked for", what_for);
}

std::string Saver::commit(const Snapshot& snapshot, const SaveRequest& request, SessionRef session) {
  if (snapshot.entries.empty()) return {};
  state_->expect_here();
  validate(request);
  {
    const std::scoped_lock lock(state_->mutex);
    std::erase_if(state_->left_over, [&](const std::string& name) {
      return std::ranges::binary_search(snapshot.entries, name, {}, &NamedTensor::name) ||
             detail::is_brought_by(request.parts, name);
    });
  }
  report_left_over();
  const Duration started = clock().monotonic_now();
  Duration written;      // since then, as the next one
  Duration before_sync;  // what parts write themselves lies between the two
  const std::string prefix = prefix_of(request);
  std::unique_lock lock(state_->mutex, std::defer_lock);
  const auto begin = [&] {
    lock.lock();
    if (request.write_state) retention(request.save_path, request.latest_filename).begin(prefix);
  };
  const detail::BundlePart* const own_file = detail::data_file_among(request.parts);
  if (own_file == nullptr) begin();  // or others could not save while this one waits for the other files
  try {
    BundleWriter writer(
        prefix, {.file_system = &file_system(),
                 .overwrite = true,
                 .shard_bytes = options_.sharded ? options_.shard_bytes : 0,
                 .expected_bytes = snapshot.bytes,
                 .may_have_gaps = !snapshot.slices.own().empty() || (own_file != nullptr && own_file->may_have_gaps),
                 .part = own_file != nullptr ? *own_file : detail::BundlePart()});
    const auto add = [&](const std::string& name, const Tensor& tensor) {
      if (options_.refuse_non_finite) detail::expect_finite(name, elements_of(tensor), prefix);
      snapshot.slices.add(writer, name, tensor);
    };
    const std::string context = "saving " + prefix;
    const auto add_present = [&](const std::string& name) {
      const StateMemory elements = detail::call_in_context(context, [&] { return session.memory(name); });
      if (elements.bytes.empty())
        return add(name, detail::call_in_context(context, [&] { return session.saved_value(name); }));
      if (options_.refuse_non_finite) detail::expect_finite(name, elements, prefix);
      snapshot.slices.add(writer, name, elements);
    };
    for (std::size_t i = 0; i < snapshot.entries.size(); ++i) {
      const auto& [name, value] = snapshot.entries[i];
      if (i < snapshot.later.size() && snapshot.later[i]) {
        add(name, detail::call_in_context(context, snapshot.later[i]));
      } else if (session.has_value() && !value.has_value()) {
        add_present(name);
      } else {
        add(name, value);
      }
    }
    for (const auto& part : request.parts)
      for (const NamedTensor& entry : part->entries()) add(entry.name, entry.tensor);
    for (const auto& part : request.parts) part->add_to(writer);
    if (own_file != nullptr) begin();
    written = Duration(clock().monotonic_now() - started);
    for (const auto& part : request.parts) part->before_commit();
    before_sync = Duration(clock().monotonic_now() - started);
    writer.finish();
  } catch (...) {
    if (request.write_state && lock.owns_lock() && state_->retention) state_->retention->abandon(prefix);
    throw;
  }
  if (request.write_state) state_->retention->add(prefix, clock().wall_seconds());
  const Duration synced(clock().monotonic_now() - started - before_sync);
  if (request.write_state)
    for (const auto& part : request.parts) part->committed();
  const Duration took(clock().monotonic_now() - started);
  if (request.cost != nullptr)
    *request.cost = {.blocked = took, .written = written, .synced = synced, .bytes = snapshot.bytes};
  return prefix;
}

// Other names below `_trainhook/` are of what others add to a checkpoint.
void Saver::set_left_over(const CheckpointContents& contents, std::vector<std::string> taken) const {
  std::ranges::sort(taken);
  std::vector<std::string> names = options_.var_list.empty() ? contents.names() : std::vector<std::string>();
  std::erase_if(names, [&](const std::string& name) {
    const bool is_state = !name.starts_with("_trainhook/") || name.starts_with("_trainhook/state/") ||
                          name.starts_with("_trainhook/random/") || name.starts_with("_trainhook/hooks/");
    return !is_state || std::ranges::binary_search(taken, name);
  });
  const std::scoped_lock lock(state_->mutex);
  state_->restored = contents.path();
  state_->left_over = std::move(names);
}

std::vector<std::string> Saver::take_left_over() const {
  const std::scoped_lock lock(state_->mutex);
  return std::exchange(state_->left_over, {});
}

void Saver::report_left_over() const {
  std::unique_lock lock(state_->mutex);
  const std::vector<std::string> names = std::exchange(state_->left_over, {});
  const std::string restored = state_->restored;
  lock.unlock();  // before a log sink is called
  if (names.empty()) return;
  log_warning("checkpoint {} has {} {} that nothing here takes, and the next save leaves out: {}", restored,
              names.size(), names.size() == 1 ? "name" : "names", detail::list_names(names));
}

void Saver::tidy(const std::string& save_path, const std::string& latest_filename) {
  state_->expect_here();
  const std::scoped_lock lock(state_->mutex);
  retention(save_path, latest_filename).tidy(clock().wall_seconds());
}

std::vector<std::string> Saver::last_checkpoints() const {
  state_->expect_here();
  const std::scoped_lock lock(state_->mutex);
  return state_->retention ? state_->retention->prefixes() : std::vector<std::string>();
}

void Saver::recover_last_checkpoints(const std::vector<std::string>& prefixes, const std::string& latest_filename) {
  if (prefixes.empty()) return;
  const std::string save_path(detail::without_step(prefixes.back()));
  state_->expect_here();
  const std::scoped_lock lock(state_->mutex);
  retention(save_path, latest_filename).replace(prefixes);
}

FileSystem& Saver::file_system() const {
  FileSystem* const lent = state_->lent_file_system;
  return options_.file_system != nullptr || lent == nullptr ? state_->file_system : *lent;
}

Clock& Saver::clock() const {
  Clock* const chosen = options_.clock != nullptr ? options_.clock : state_->lent_clock.load();
  return detail::given_or_system(chosen);
}

std::vector<std::shared_ptr<Saveable>> Saver::saveables(const Graph& graph) const {
  if (!options_.with_saveables || !options_.var_list.empty()) return {};
  return graph.collection<std::shared_ptr<Saveable>>(graph_keys::kSaveableObjects);
}

std::vector<StateSpec> Saver::chosen_state(SessionRef session, const detail::TakenParts& parts) const {
  std::vector<StateSpec> all = session.state();
  std::vector<std::string> wanted = options_.var_list;
  if (!wanted.empty()) {
    std::vector<std::string> names;
    for (const StateSpec& spec : all) names.push_back(spec.name);
    std::ranges::sort(names);
    for (const std::string& name : wanted) {
      if (!std::ranges::binary_search(names, name))
        throw NotFoundError("Saver: var_list names '{}', which the session does not have", name);
    }
  }
  const bool by_kind = wanted.empty();
  if (by_kind && options_.with_saveables) wanted = session.graph().collection<std::string>(detail::kInputsWithModel);
  std::ranges::sort(wanted);
  std::erase_if(all, [&](const StateSpec& spec) {
    const bool is_of_kind = by_kind && std::ranges::find(options_.kinds, spec.kind) != options_.kinds.end();
    if (detail::is_brought_by(parts, spec.name)) return true;
    return !is_of_kind && !std::ranges::binary_search(wanted, spec.name);
  });
  return all;
}

void Saver::validate(const SaveRequest& request) const {
  detail::expect_file_name("Saver", "latest_filename", request.latest_filename);
  if (base_name(request.save_path) == request.latest_filename && !request.global_step && !options_.sharded) {
    throw InvalidArgumentError("Saver: save_path '{}' collides with the state file '{}'; choose another",
                               request.save_path, request.latest_filename);
  }
  if (request.global_step && *request.global_step < 0)
    throw InvalidArgumentError("Saver: global_step is {}; it must not be negative", *request.global_step);
}

std::string Saver::prefix_of(const SaveRequest& request) const {
  if (!request.global_step) return request.save_path;
  return fmt::format("{}-{:0{}}", request.save_path, *request.global_step, options_.pad_step_number ? 8 : 1);
}

detail::Retention& Saver::retention(const std::string& save_path, const std::string& latest_filename) {
  if (!state_->retention || state_->retention->state_file() != join_path(parent_path(save_path), latest_filename) ||
      &state_->retention->file_system() != &file_system()) {
    state_->retention.emplace(
        file_system(), save_path, latest_filename,
        detail::RetentionPolicy{.max_to_keep = options_.max_to_keep,
                                .keep_checkpoint_every_n_hours = options_.keep_checkpoint_every_n_hours,
                                .keep = options_.keep,
                                .save_relative_paths = options_.save_relative_paths},
        state_->started.load());
  }
  return *state_->retention;
}

}  // namespace trainhook
