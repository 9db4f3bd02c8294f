// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/checkpoint/checkpoint_state.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <set>
#include <utility>

#include <fmt/format.h>

#include <trainhook/checkpoint/bundle/device_read.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/io/path.hpp>
#include <trainhook/io/whole_file.hpp>
#include <trainhook/proto/message_text.hpp>

namespace trainhook::detail {

template <>
inline constexpr auto kFields<CheckpointState> =
    std::tuple(field(1, "model_checkpoint_path", &CheckpointState::model_checkpoint_path),
               field(2, "all_model_checkpoint_paths", &CheckpointState::all_model_checkpoint_paths),
               field(3, "all_model_checkpoint_timestamps", &CheckpointState::all_model_checkpoint_timestamps),
               field(4, "last_preserved_timestamp", &CheckpointState::last_preserved_timestamp));

/// `path` as seen from `directory`: relative if possible, with `..` if it is outside, otherwise
/// absolute.
inline std::string path_from(std::string_view directory, std::string_view path) {
  const std::string from = plain_path(directory);
  const std::string to = plain_path(path);
  if (from.empty()) return to;
  if (to.size() > from.size() && to.starts_with(from) && (from.back() == '/' || to[from.size()] == '/')) {
    return to.substr(from.back() == '/' ? from.size() : from.size() + 1);
  }
  if (is_absolute_path(to)) return to;
  if (is_absolute_path(from) || from.find("..") != std::string::npos) {
    throw InvalidArgumentError("checkpoint {} cannot be named from directory {}; give both as absolute paths", path,
                               directory);
  }
  std::string relative;
  for (std::size_t i = 0; i <= from.size(); ++i) {
    if (i == from.size() || from[i] == '/') relative += "../";
  }
  return relative + to;
}

inline std::string state_file_path(const std::string& directory, const std::string& latest_filename) {
  if (latest_filename.empty() || latest_filename.find('/') != std::string::npos) {
    throw InvalidArgumentError("latest_filename \"{}\" must be the name of a file, without a directory",
                               latest_filename);
  }
  return join_path(directory, latest_filename);
}

CheckpointState parse_checkpoint_state(std::string_view text, const std::string& path) {
  return parse_message_text<CheckpointState>(text, fmt::format("state file {}", path));
}

std::string own_or_listed(FileSystem& file_system, const std::string& directory, const std::string& listed) {
  std::string own = join_path(directory, base_name(listed));
  if (plain_path(own) == plain_path(listed) || !checkpoint_exists(file_system, own)) return listed;
  return own;
}

std::optional<CheckpointState> read_checkpoint_state(FileSystem& file_system, const std::string& directory,
                                                     const std::string& latest_filename) {
  const std::string path = state_file_path(directory, latest_filename);
  const std::optional<std::string> text = read_from_device(
      [&] { return file_system.exists(path) ? std::optional(read_file(file_system, path)) : std::nullopt; });
  if (!text) return std::nullopt;
  CheckpointState state = parse_checkpoint_state(*text, path);
  if (!state.model_checkpoint_path.empty())
    state.model_checkpoint_path = join_path(directory, state.model_checkpoint_path);
  for (std::string& listed : state.all_model_checkpoint_paths) listed = join_path(directory, listed);
  return state;
}

inline constexpr std::string_view kOwnSteps =
    "# Only what is listed here, or marked, is ever removed or replaced; steps may be saved again up to ";

std::optional<std::int64_t> last_own_step(FileSystem& file_system, const std::string& path) {
  const std::string text =
      read_from_device([&] { return file_system.exists(path) ? read_file(file_system, path) : std::string(); });
  const std::size_t line = text.rfind(kOwnSteps);
  std::int64_t last = 0;
  if (line == std::string::npos || !text.ends_with('\n')) return std::nullopt;
  const char* const end = text.data() + text.size() - 1;
  const auto [stop, error] = std::from_chars(text.data() + line + kOwnSteps.size(), end, last);
  return error == std::errc() && stop == end ? std::optional(last) : std::nullopt;
}

void write_checkpoint_state(FileSystem& file_system, const std::string& directory, CheckpointState state,
                            const std::string& latest_filename, bool save_relative_paths,
                            std::optional<std::int64_t> last_step) {
  const std::string path = state_file_path(directory, latest_filename);
  if (state.model_checkpoint_path.empty())
    throw InvalidArgumentError("state file {} must name a newest checkpoint", path);
  std::vector<std::string>& all = state.all_model_checkpoint_paths;
  std::vector<double>& stamps = state.all_model_checkpoint_timestamps;
  if (!stamps.empty() && stamps.size() != all.size()) {
    throw InvalidArgumentError("state file {}: {} timestamps do not go with {} paths", path, stamps.size(), all.size());
  }
  if (all.empty() || all.back() != state.model_checkpoint_path) {
    all.push_back(state.model_checkpoint_path);
    stamps.clear();  // the new one's is not known, and half a list says nothing
  }
  if (plain_path(state.model_checkpoint_path) == plain_path(path) && !checkpoint_exists(file_system, path)) {
    throw FailedPreconditionError("checkpoint {} has the path of its state file; choose another name for one of them",
                                  path);
  }
  const auto stored = [&](const std::string& prefix) {
    return is_absolute_path(prefix) && !save_relative_paths ? prefix : path_from(directory, prefix);
  };
  state.model_checkpoint_path = stored(state.model_checkpoint_path);
  for (std::string& listed : all) listed = stored(listed);
  write_file_atomically(file_system, path,
                        message_text(state) + (last_step ? fmt::format("{}{}\n", kOwnSteps, *last_step) : ""),
                        &looks_like_text_of<CheckpointState>);
}

}  // namespace trainhook::detail

namespace trainhook {

std::optional<CheckpointState> get_checkpoint_state(FileSystem& file_system, const std::string& directory,
                                                    const std::string& latest_filename) {
  std::optional<CheckpointState> state;
  try {
    state = detail::read_checkpoint_state(file_system, directory, latest_filename);
  } catch (const InvalidArgumentError&) { throw; } catch (const Error& error) {
    log_warning("checkpoint state of {} is ignored: {}", directory, error.what());
    return std::nullopt;
  }
  if (state && state->model_checkpoint_path.empty()) {
    const std::string path = join_path(directory, latest_filename);
    throw InvalidArgumentError("state file {} names no model_checkpoint_path; remove or repair it", path);
  }
  return state;
}

void update_checkpoint_state(FileSystem& file_system, const std::string& directory, CheckpointState state,
                             const std::string& latest_filename, bool save_relative_paths) {
  detail::write_checkpoint_state(file_system, directory, std::move(state), latest_filename, save_relative_paths,
                                 std::nullopt);
}

std::optional<std::string> latest_checkpoint(FileSystem& file_system, const std::string& directory,
                                             const std::string& latest_filename) {
  const std::optional<CheckpointState> state = get_checkpoint_state(file_system, directory, latest_filename);
  if (!state) return std::nullopt;
  std::string newest = detail::own_or_listed(file_system, directory, state->model_checkpoint_path);
  if (checkpoint_exists(file_system, newest)) return newest;
  const std::string path = join_path(directory, latest_filename);
  log_error("state file {} names checkpoint {}, which is not there", path, state->model_checkpoint_path);
  return std::nullopt;
}

}  // namespace trainhook

namespace trainhook::detail {

std::vector<std::string> checkpoint_candidates(FileSystem& file_system, const std::string& directory,
                                               const std::optional<std::string>& basename,
                                               const std::string& latest_filename) {
  CheckpointState state;
  try {
    state = read_checkpoint_state(file_system, directory, latest_filename).value_or(CheckpointState{});
  } catch (const DataLossError& error) {
    log_warning("checkpoint state of {} is ignored, its checkpoints are looked for by name: {}", directory,
                error.what());
  }
  std::vector<std::string> listed = state.all_model_checkpoint_paths;
  if (!state.model_checkpoint_path.empty()) listed.push_back(state.model_checkpoint_path);
  for (std::string& prefix : listed) prefix = own_or_listed(file_system, directory, prefix);
  std::ranges::reverse(listed);
  const auto stem = [](const std::string& prefix) { return std::string(base_name(without_step(prefix))); };
  std::set<std::string> paths;  // of the candidates
  std::vector<std::string> candidates;
  const auto is_newer = [](const std::string& a, const std::string& b) {
    return step_of_checkpoint(a).value_or(-1) > step_of_checkpoint(b).value_or(-1);
  };
  const auto add = [&](const std::string& prefix) {
    if (!paths.insert(plain_path(prefix)).second) return;
    const bool has_latest = !candidates.empty() && !state.model_checkpoint_path.empty();  // which stays the first
    candidates.insert(std::upper_bound(candidates.begin() + (has_latest ? 1 : 0), candidates.end(), prefix, is_newer),
                      prefix);
  };
  std::set<std::string> stems;
  for (const std::string& prefix : listed) {
    add(prefix);
    stems.insert(stem(prefix));
  }
  std::vector<std::string> on_disk = checkpoints_on_disk(file_system, directory, basename);
  for (auto prefix = on_disk.rbegin(); prefix != on_disk.rend(); ++prefix) {
    if (basename || listed.empty() || stems.contains(stem(*prefix))) add(*prefix);
  }
  if (!candidates.empty() || basename) return candidates;
  candidates = checkpoints_without_step(file_system, directory);
  if (candidates.size() <= 1) return candidates;
  throw FailedPreconditionError(
      "{} has no state file, and its checkpoints, such as {} and {}, have no step in their names: move all but the "
      "newest away, or name it with update_checkpoint_state",
      directory, candidates[0], candidates[1]);
}

}  // namespace trainhook::detail
