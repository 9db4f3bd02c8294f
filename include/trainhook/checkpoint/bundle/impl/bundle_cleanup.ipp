// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/checkpoint/bundle/bundle_cleanup.hpp>

#include <algorithm>
#include <exception>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <trainhook/checkpoint/bundle/bundle_protocol.hpp>
#include <trainhook/checkpoint/bundle/tensor_bundle_format.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/io/path.hpp>

namespace trainhook::detail {

void remove_if_there(FileSystem& file_system, const std::string& path) {
  try {
    file_system.remove_file(path);
  } catch (const NotFoundError&) {  // that is what was wanted
  }
}

/// Removes the data and `.meta` of the checkpoint `base`.
inline void remove_data(FileSystem& file_system, const std::string& directory, std::string_view base) {
  for (const std::string& name : file_system.list_directory(directory)) {
    if (name == fmt::format("{}.meta", base) || base_of_data(name) == base)
      remove_if_there(file_system, join_path(directory, name));
  }
}

std::vector<std::string> remove_checkpoint_files(FileSystem& file_system, const std::string& prefix) {
  const std::string directory = parent_path(prefix);
  const std::string_view base = base_name(prefix);
  std::vector<std::string> records;
  if (!file_system.is_directory(directory)) return records;
  std::optional<BundleIndex> index = find_bundle_index(file_system, prefix);
  if (index && !index->suffix.empty()) {
    complete_replacement(file_system, prefix, index->suffix);
    index = BundleIndex{bundle_index_path(prefix)};
  }
  if (index) {
    file_system.rename(index->path, index->path + bundle_temporary_suffix());
    file_system.sync_directory(directory);
  }
  for (const std::string& name : file_system.list_directory(directory)) {
    const std::optional<TemporaryIndex> record = temporary_index(name);
    if (record && record->base == base && is_temporary_name(name)) records.push_back(join_path(directory, name));
  }
  remove_data(file_system, directory, base);
  return records;
}

/// The work of `finish_interrupted_saves`, in its order. Whatever fails is logged and left for the next time.
class SaveFinisher {
 public:
  SaveFinisher(FileSystem& file_system, const std::string& directory)
      : file_system_(file_system), directory_(directory) {}

  InterruptedSaves run() {
    for (const std::string& name : file_system_.list_directory(directory_)) {
      if (const auto replaced = replaced_index(name)) complete(*replaced);
    }
    const std::vector<std::string> names = file_system_.list_directory(directory_);
    for (const std::string& name : names) {
      if (!is_temporary_name(name)) {
        if (has_temporary_form(name) && !replaced_index(name) && !unlisted_index(name))
          found_.foreign.push_back(join_path(directory_, name));
        continue;
      }
      if (const auto index = temporary_index(name)) finish_removal(*index, names);
    }
    for (const bool records : {false, true}) {  // what names the rest goes last
      if (records && !found_.removed.empty()) attempt(directory_, [&] { file_system_.sync_directory(directory_); });
      for (const std::string& name : names) {
        const auto unlisted = unlisted_index(name);
        if (unlisted && (unfinished_bases_.contains(unlisted->base) ||
                         std::ranges::binary_search(names, bundle_index_path(unlisted->base))))
          continue;
        if (is_temporary_name(name) && temporary_index(name).has_value() == records) remove_temporary(name);
      }
    }
    find_incomplete();
    return std::move(found_);
  }

 private:
  /// Whether it worked.
  template <class Act>
  bool attempt(const std::string& what, Act act) {
    try {
      act();
      return true;
    } catch (...) {
      log_warning("{} is left as a writer that was killed left it: {}", what, describe(std::current_exception()));
      return false;
    }
  }

  void complete(const TemporaryIndex& replaced) {
    const std::string prefix = join_path(directory_, replaced.base);
    if (attempt(prefix, [&] { complete_replacement(file_system_, prefix, replaced.suffix); })) {
      found_.replaced.push_back(prefix);
    } else {
      unfinished_bases_.insert(replaced.base);
      unfinished_.insert(replaced.suffix);
    }
  }

  void finish_removal(const TemporaryIndex& index, const std::vector<std::string>& names) {
    const std::string prefix = join_path(directory_, index.base);
    if (unfinished_bases_.contains(index.base) || std::ranges::binary_search(names, bundle_index_path(index.base)))
      return;
    if (attempt(prefix, [&] { remove_data(file_system_, directory_, index.base); })) {
      if (std::ranges::find(found_.removed, prefix) == found_.removed.end()) found_.removed.push_back(prefix);
    } else {
      unfinished_bases_.insert(index.base);
      unfinished_.insert(index.suffix);
    }
  }

  void remove_temporary(const std::string& name) {
    if (unfinished_.contains(name.substr(name.rfind('.')))) return;
    const std::string path = join_path(directory_, name);
    attempt(path, [&] {
      if (file_system_.is_directory(path)) {
        log_warning("{} has the name of a temporary file, but is a directory; it is left alone", path);
        return;
      }
      file_system_.remove_file(path);
      ++found_.temporaries;
    });
  }

  void find_incomplete() {
    const std::vector<std::string> names = file_system_.list_directory(directory_);
    std::set<std::string> recorded;
    for (const std::string& name : names) {
      if (const auto index = temporary_index(name); index && is_temporary_name(name)) recorded.insert(index->base);
    }
    std::string last;
    for (const std::string& name : names) {
      const auto base = base_of_data(name);
      if (!base || *base == last) continue;
      last = *base;
      if (!std::ranges::binary_search(names, bundle_index_path(last)) && !recorded.contains(last))
        found_.incomplete.push_back(join_path(directory_, last));
    }
  }

  FileSystem& file_system_;
  const std::string& directory_;
  InterruptedSaves found_;
  std::set<std::string> unfinished_bases_;  // of checkpoints whose replacement or removal could not be finished
  std::set<std::string> unfinished_;        // endings of the names of what could not be finished
};

InterruptedSaves finish_interrupted_saves(FileSystem& file_system, const std::string& directory) {
  if (!file_system.is_directory(directory)) return {};
  return SaveFinisher(file_system, directory).run();
}

}  // namespace trainhook::detail

namespace trainhook {

void remove_checkpoint(FileSystem& file_system, const std::string& prefix) {
  const std::vector<std::string> records = detail::remove_checkpoint_files(file_system, prefix);
  if (records.empty()) return;
  file_system.sync_directory(parent_path(prefix));
  for (const std::string& path : records) detail::remove_if_there(file_system, path);
}

}  // namespace trainhook
