// SPDX-License-Identifier: Apache-2.0
// The commands about directories: what checkpoints there are, which may go, what the event files say.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <trainhook/checkpoint/bundle/missing_bundle.hpp>
#include <trainhook/checkpoint/checkpoint_files.hpp>
#include <trainhook/checkpoint/checkpoint_state.hpp>
#include <trainhook/checkpoint/load_checkpoint.hpp>
#include <trainhook/checkpoint/prune_checkpoints.hpp>
#include <trainhook/core/clock.hpp>
#include <trainhook/core/duration.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/events/event_reader.hpp>
#include <trainhook/io/path.hpp>
#include <trainhook/io/posix_file_system.hpp>

#include "commands.hpp"
#include "report.hpp"

namespace th = trainhook;

namespace {

th::FileSystem& disk() { return th::posix_file_system(); }

void expect_directory(const std::string& directory) {
  if (disk().is_directory(directory)) return;
  throw th::NotFoundError("there is no directory {}; give the one that a training saves into", directory);
}

/// The names of a checkpoint's files begin with its own and a dot.
std::uint64_t size_on_disk(const std::string& prefix) {
  const std::string directory = th::parent_path(prefix);
  const std::string beginning = fmt::format("{}.", th::base_name(prefix));
  std::uint64_t size = 0;
  for (const std::string& name : disk().list_directory(directory))
    if (name.starts_with(beginning)) size += disk().file_size(th::join_path(directory, name));
  return size;
}

/// What the state file says, with the paths that its checkpoints have in this directory.
struct StateFile {
  std::vector<std::string> listed{};  // oldest first
  std::optional<std::string> newest{};
  std::optional<std::string> damage{};
};

StateFile state_of(const std::string& directory) {
  const std::string path = th::join_path(directory, "checkpoint");
  StateFile file;
  try {
    const std::optional<th::CheckpointState> state = th::get_checkpoint_state(directory);
    if (!state && disk().exists(path)) file.damage = fmt::format("damaged: state file {} cannot be read", path);
    if (!state) return file;
    file.listed = state->all_model_checkpoint_paths;
    if (std::ranges::find(file.listed, state->model_checkpoint_path) == file.listed.end())
      file.listed.push_back(state->model_checkpoint_path);
    for (std::string& prefix : file.listed) prefix = th::join_path(directory, th::base_name(prefix));
    file.newest = th::latest_checkpoint(directory);
  } catch (const th::InvalidArgumentError& error) { file.damage = fmt::format("damaged: {}", error.what()); }
  return file;
}

bool is_input(const std::string& prefix) { return th::base_name(prefix).starts_with("input.ckpt-"); }

std::string input_of(const std::string& prefix) {
  const std::optional<std::int64_t> step = th::step_of_checkpoint(prefix);
  return step ? th::join_path(th::parent_path(prefix), fmt::format("input.ckpt-{}", *step)) : "";
}

Cell age(double seconds) {
  const auto exact = std::chrono::duration<double>((std::max)(seconds, 0.0));  // a file server's clock may be ahead
  return {th::duration_text(exact), fmt::format("{:.1f}", exact.count())};
}

/// The row of one checkpoint, and a note if it cannot be read; `result`, an exit code, becomes worse then.
Report::Row row_of(const std::string& prefix, const StateFile& file, std::vector<std::string>& notes, int& result) {
  const bool is_newest = file.newest && th::base_name(*file.newest) == th::base_name(prefix);
  const bool is_listed = std::ranges::find(file.listed, prefix) != file.listed.end();
  const std::optional<std::int64_t> step = th::step_of_checkpoint(prefix);
  const std::vector<double> written = th::get_checkpoint_mtimes({prefix});
  const bool has_input = step && th::checkpoint_exists(input_of(prefix));
  Cell tensors;
  Cell state = is_newest ? "newest" : is_listed ? "listed" : "not listed: stays";
  auto style = is_newest ? kGood : fmt::text_style();
  try {
    tensors = count(static_cast<std::int64_t>(th::list_variables(prefix).size()));
  } catch (const th::Error& error) {
    const bool is_read = error.code() != th::ErrorCode::Unimplemented;
    notes.emplace_back(error.what());
    state = written.empty() ? "missing" : is_read ? "damaged" : "not read";
    style = kBad;
    if (result != kDamagedOrDifferent) result = is_read ? kDamagedOrDifferent : kNoAnswer;
  }
  return {{std::string(th::base_name(prefix)), step ? count(*step) : Cell(),
           written.empty() ? Cell() : age(th::system_clock().wall_seconds() - written[0]),
           written.empty() ? Cell() : bytes(size_on_disk(prefix)), tensors,
           has_input ? Cell(th::base_name(input_of(prefix))) : Cell(), state},
          style};
}

}  // namespace

std::optional<std::string> damage_of_state_file(const std::string& directory) { return state_of(directory).damage; }

std::vector<std::string> checkpoints_in(const std::string& directory) {
  const std::vector<std::string> listed = state_of(directory).listed;
  std::vector<std::string> all = th::checkpoints_on_disk(disk(), directory);
  std::erase_if(all, [&](const std::string& prefix) { return std::ranges::find(listed, prefix) != listed.end(); });
  all.insert(all.end(), listed.begin(), listed.end());
  return all;
}

std::vector<std::string> left_over_in(const std::string& directory) {
  std::vector<std::string> lines;
  for (const std::string& name : disk().list_directory(directory)) {
    const std::size_t data = name.find(".data-");
    if (name.find(".tempstate") != std::string::npos) {
      lines.push_back(fmt::format(
          "left over: {}, of a save that goes on or was killed; the next training removes it if trainhook wrote it",
          name));
    } else if (data != std::string::npos && !th::checkpoint_exists(th::join_path(directory, name.substr(0, data)))) {
      lines.push_back(fmt::format("incomplete: {} belongs to no checkpoint, because there is no {}.index", name,
                                  name.substr(0, data)));
    }
  }
  return lines;
}

int list(const std::string& directory, bool as_json) {
  expect_directory(directory);
  const StateFile file = state_of(directory);
  Report report{.rows_key = "checkpoints",
                .columns = {{"checkpoint", "name"},
                            {"step", "step"},
                            {"age", "age_seconds"},
                            {"size", "bytes"},
                            {"tensors", "tensors"},
                            {"input", "input"},
                            {"state", "state"}}};
  const std::vector<std::string> all = checkpoints_in(directory);
  std::set<std::string> inputs;
  for (const std::string& prefix : all)
    if (is_input(prefix)) inputs.insert(prefix);
  int result = file.damage ? kDamagedOrDifferent : kFine;
  if (file.damage) report.notes.push_back(*file.damage);
  for (const std::string& prefix : all) {
    if (is_input(prefix)) continue;
    report.rows.push_back(row_of(prefix, file, report.notes, result));
    inputs.erase(input_of(prefix));
  }
  if (const auto variables = th::detail::variables_of_saved_model(disk(), directory))
    report.notes.push_back(
        fmt::format("{} is a SavedModel; its variables are the checkpoint {}", directory, *variables));
  for (const std::string& input : inputs)
    report.notes.push_back(fmt::format("left over: {} has no model of its step", th::base_name(input)));
  for (std::string& line : left_over_in(directory)) report.notes.push_back(std::move(line));
  report.facts = {{"directory", directory}, {"newest", file.newest ? Cell(*file.newest) : Cell()}};
  report.heading = fmt::format("{}: {}", directory, counted(report.rows.size(), "checkpoint"));
  print(report, as_json);
  return result;
}

int prune(const std::string& directory, int keep, bool dry_run, bool as_json) {
  expect_directory(directory);
  std::map<std::string, std::uint64_t> sizes;
  std::vector<std::string> removed = th::prune_checkpoints(directory, {.max_to_keep = keep, .dry_run = true});
  for (const std::string& prefix : removed) sizes[prefix] = size_on_disk(prefix);
  if (!dry_run) removed = th::prune_checkpoints(directory, {.max_to_keep = keep});
  if (as_json) {
    Report report{.facts = {{"directory", directory}, {"dry_run", truth(dry_run)}},
                  .rows_key = "removed",
                  .columns = {{"", "name"}, {"", "bytes"}}};
    for (const std::string& prefix : removed) report.rows.push_back({{prefix, bytes(sizes[prefix])}});
    print_json(report);
    return kFine;
  }
  for (const std::string& prefix : removed)
    fmt::print("{} {} ({})\n", dry_run ? "would remove" : "removed", Cell(prefix).text, bytes(sizes[prefix]).text);
  if (removed.empty()) fmt::print("nothing to remove: {} lists no more than {}\n", directory, keep);
  return kFine;
}

namespace {

struct Tag {
  std::string kind{};
  std::string plugin{};  // the dashboard; values after the first need not name it
  std::vector<std::int64_t> steps{};
  std::vector<Cell> values{};  // of the same length
};

void add_value(std::map<std::string, Tag>& tags, std::int64_t step, const th::SummaryValue& value) {
  Tag& tag = tags[value.tag];
  Cell last;
  if (tag.plugin.empty()) tag.plugin = value.plugin;
  static const std::set<std::string_view> shown = {"", "scalars", "histograms", "images", "text"};
  if (!shown.contains(tag.plugin)) {
    tag.kind = tag.plugin;
  } else if (value.scalar) {
    tag.kind = "scalar";
    last = real(*value.scalar);
  } else if (value.histogram) {
    tag.kind = "histogram";
    last = fmt::format("{} values, {:.6g} to {:.6g}", value.histogram->num, value.histogram->min, value.histogram->max);
  } else if (!value.images.empty()) {
    tag.kind = "image";
    last = fmt::format("{} x {}", value.images[0].width, value.images[0].height);
  } else if (value.text) {
    tag.kind = "text";
    last = *value.text;
    last.text = fmt::format("{:.60}", last.text);
  } else {
    tag.kind = "other";
  }
  tag.steps.push_back(step);
  tag.values.push_back(std::move(last));
}

/// What a run that was killed wrote after its last checkpoint comes again: like TensorBoard, takes it back.
void forget_from(std::map<std::string, Tag>& tags, std::int64_t step) {
  for (auto& [name, tag] : tags) {
    while (!tag.steps.empty() && tag.steps.back() >= step) {
      tag.steps.pop_back();
      tag.values.pop_back();
    }
  }
  std::erase_if(tags, [](const auto& entry) { return entry.second.steps.empty(); });
}

}  // namespace

int events(const std::string& path, bool as_json) {
  const bool is_file = disk().exists(path) && !disk().is_directory(path);
  if (!is_file) expect_directory(path);
  const std::vector<std::string> files = is_file ? std::vector{path} : th::list_event_files(disk(), path);
  if (files.empty())
    throw th::NotFoundError("there are no event files in {}; give the directory that holds events.out.tfevents.*",
                            path);
  std::map<std::string, Tag> tags;
  Report report{.heading = fmt::format("{}: {}", path, counted(files.size(), "event file")),
                .facts = {{"directory", is_file ? th::parent_path(path) : path},
                          {"files", count(static_cast<std::int64_t>(files.size()))}},
                .rows_key = "tags",
                .columns = {{"tag", "tag"},
                            {"kind", "kind"},
                            {"values", "values"},
                            {"first step", "first_step"},
                            {"last step", "last_step"},
                            {"last value", "last_value"}}};
  for (const std::string& file : files) {
    const th::EventFileContents contents = th::read_events(disk(), file);
    for (const std::string& problem : contents.problems) report.notes.push_back(problem);
    for (const th::Event& event : contents.events) {
      if (event.session_log && event.session_log->status == th::SessionLog::Start) forget_from(tags, event.step);
      for (const th::SummaryValue& value : event.values) add_value(tags, event.step, value);
    }
  }
  for (const auto& [name, tag] : tags) {
    report.rows.push_back({{name, tag.kind, count(static_cast<std::int64_t>(tag.steps.size())),
                            count(tag.steps.front()), count(tag.steps.back()), tag.values.back()}});
  }
  print(report, as_json);
  return report.notes.empty() ? kFine : kDamagedOrDifferent;
}
