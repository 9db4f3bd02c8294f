// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/checkpoint/input_files.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <limits>
#include <system_error>

#include <fmt/format.h>

#include <trainhook/checkpoint/bundle/bundle_reader.hpp>
#include <trainhook/checkpoint/bundle/device_read.hpp>
#include <trainhook/checkpoint/checkpoint_files.hpp>
#include <trainhook/checkpoint/checkpoint_state.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/io/path.hpp>

namespace trainhook::detail {

inline constexpr std::string_view kWorker = "_worker_";

inline DataLossError lost_index(const std::string& prefix) { return DataLossError("{}.index does not exist", prefix); }

std::vector<std::string> InputFiles::find(const std::string& directory, std::int64_t step) const {
  const auto is_there = [this](const std::string& prefix) {
    return read_from_device([&] { return checkpoint_exists(*file_system_, prefix); });
  };
  const std::string alone = prefix_of(directory, {step, kAlone});
  const std::string first = prefix_of(directory, {step, 0});
  const auto of_job = [&](int count) {
    const bool is_ours = count == process_.count;
    std::vector<std::string> prefixes;
    for (int process = is_ours ? process_.number : 0; process < count; ++process) {
      prefixes.push_back(prefix_of(directory, {step, process}));
      if (!is_there(prefixes.back())) throw lost_index(prefixes.back());
      if (process > 0 && num_processes_of(prefixes.back()) != count)
        throw DataLossError("{} and {} are not of one save", first, prefixes.back());
      if (is_ours || process_.number > 0) break;
    }
    return prefixes;
  };
  if (process_.count == 1 && is_there(alone)) return {alone};
  if (const auto count = is_there(first) ? num_processes_of(first) : std::nullopt) return of_job(*count);
  if (process_.count > 1 && is_there(alone)) return {alone};
  const std::set<File> files = saved(directory);
  const auto file = files.lower_bound({step, kAlone});
  if (file == files.end() || file->first != step) return {};
  throw lost_index(prefix_of(directory, *file));
}

std::optional<int> InputFiles::num_processes_of(const std::string& prefix) const {
  const BundleReader reader(prefix, {.file_system = file_system_});
  if (!reader.has_tensor(kNumProcesses)) return std::nullopt;
  const auto count = reader.get_tensor(kNumProcesses).scalar<std::int64_t>();
  if (count < 2 || count > (std::numeric_limits<int>::max)())
    throw DataLossError("{} says that {} processes saved the input", prefix, count);
  return static_cast<int>(count);
}

void InputFiles::expect_same_positions(const std::vector<std::string>& prefixes) const {
  if (prefixes.size() == 1) return;
  const BundleReader first(prefixes.front(), {.file_system = file_system_});
  for (const std::string& prefix : prefixes) {
    const BundleReader other(prefix, {.file_system = file_system_});
    const bool is_same = std::ranges::all_of(other.entries(), [&](const auto& entry) {
      return first.has_tensor(entry.first) && first.get_tensor(entry.first) == other.get_tensor(entry.first);
    });
    if (is_same) continue;
    throw FailedPreconditionError(
        "{} processes saved the input, and the positions of {} and {} differ, so {} cannot continue from them: start "
        "{} again, or leave the CheckpointInputPipelineHook out and begin the input anew. An input that is the same on "
        "all, as with mpi::shard_globally, continues with any number",
        prefixes.size(), prefixes.front(), prefix, process_.count, prefixes.size());
  }
}

std::set<InputFiles::File> InputFiles::saved(const std::string& directory) const {
  std::set<File> files = listed(directory);
  for (const std::string& name : read_from_device([&] { return file_system_->list_directory(directory); })) {
    if (const auto parsed = parse(name); parsed && parsed->step) files.emplace(*parsed->step, parsed->process);
  }
  return files;
}

CheckpointDirectory InputFiles::listing(const std::string& directory) const {
  return CheckpointDirectory(*file_system_, directory, latest_filename_, {.lists_what_goes = false});
}

std::set<InputFiles::File> InputFiles::own(std::set<File> there, CheckpointDirectory& list, std::int64_t last) const {
  std::set<File> known = listed(list.path());
  if (known.empty()) known = listed(list.path());  // a network file system may miss a file once
  const auto is_wanted = [&](std::string_view name) {
    const auto parsed = parse(name);
    return parsed && parsed->step && *parsed->step <= last;
  };
  for (const std::string& prefix : list.find_marked(is_wanted)) {
    const auto parsed = parse(base_name(prefix));
    known.emplace(parsed->step.value(), parsed->process);
  }
  if (list.lists_all()) std::erase_if(there, [&](const File& file) { return !known.contains(file); });
  return there;
}

std::set<InputFiles::File> InputFiles::listed(const std::string& directory) const {
  std::set<File> files;
  const auto state = listing(directory).read();
  for (const std::string& prefix : state.value_or(CheckpointState{}).all_model_checkpoint_paths) {
    const auto parsed = parse(base_name(prefix));
    if (parsed && parsed->step) files.emplace(*parsed->step, parsed->process);
  }
  return files;
}

std::string InputFiles::prefix_of(const std::string& directory, File file) const {
  std::string name = basename_;
  if (file.second != kAlone)
    name.insert((std::min)(name.rfind('.'), name.size()), fmt::format("{}{}", kWorker, file.second));
  return fmt::format("{}-{}", join_path(directory, name), file.first);
}

// Takes the digits at the beginning of `text`; false if there are none, or too many.
template <class Number>
bool take_number(std::string_view& text, Number& number) {
  if (text.empty() || text.front() < '0' || text.front() > '9') return false;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return error == std::errc();
}

std::optional<InputFiles::Name> InputFiles::parse(std::string_view name) const {
  const std::string_view basename = basename_;
  const std::size_t dot = (std::min)(basename.rfind('.'), basename.size());
  if (!name.starts_with(basename.substr(0, dot))) return std::nullopt;
  name.remove_prefix(dot);
  Name parsed;
  if (name.starts_with(kWorker)) {
    name.remove_prefix(kWorker.size());
    if (!take_number(name, parsed.process)) return std::nullopt;
  }
  const std::string end = std::string(basename.substr(dot)) + "-";
  if (!name.starts_with(end)) return std::nullopt;
  name.remove_prefix(end.size());
  std::int64_t step = 0;
  if (take_number(name, step) && (name.empty() || name.front() == '.')) parsed.step = step;
  return parsed;
}

}  // namespace trainhook::detail
