// SPDX-License-Identifier: Apache-2.0
/// @file
/// The bodies of on_existing.hpp.
#pragma once

#include <trainhook/monitored/on_existing.hpp>

#include <vector>

#include <fmt/format.h>

#include <trainhook/checkpoint/checkpoint_files.hpp>
#include <trainhook/checkpoint/checkpoint_state.hpp>
#include <trainhook/checkpoint/device_read.hpp>
#include <trainhook/checkpoint/directory_hold.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/io/file_system.hpp>
#include <trainhook/io/path.hpp>

namespace trainhook::detail {

void prepare_directory(FileSystem& file_system, Clock& clock, const std::string& directory, OnExisting on_existing,
                       DirectoryLock directory_lock) {
  if (on_existing == OnExisting::Resume || directory.empty()) return;
  const std::vector<std::string> found =
      read_from_device([&] { return checkpoint_candidates(file_system, directory); });
  if (found.empty()) return;
  if (on_existing == OnExisting::Fail) {
    throw AlreadyExistsError(
        "{} holds a run already, with checkpoint {}: "
        "train into another directory, or set on_existing to Resume or StartFresh",
        directory, found.front());
  }
  if (directory_lock == DirectoryLock::Auto) { const DirectoryHold is_free(file_system, directory, clock); }
  const std::string plain = plain_path(directory);
  const std::string target = file_system.resolve(plain).path;
  int number = 1;
  while (file_system.exists(fmt::format("{}.{}", target, number))) ++number;
  const std::string earlier = fmt::format("{}.{}", target, number);
  try {
    file_system.rename(target, earlier);
    file_system.sync_directory(parent_path(target));
    if (target != plain) file_system.make_directories(target);  // so that the link leads to something
  } catch (const Error& error) {
    throw_error(error.code(), fmt::format("on_existing = StartFresh renames the directory of the earlier run, which "
                                          "failed; train into a directory below it: {}",
                                          error.what()));
  }
  log_info("The earlier run in {} is in {} now; this one starts fresh.", directory, earlier);
}

}  // namespace trainhook::detail
