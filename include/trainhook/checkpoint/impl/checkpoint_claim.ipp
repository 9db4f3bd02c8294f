// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/checkpoint/checkpoint_claim.hpp>

#include <utility>

#include <fmt/format.h>

#include <trainhook/checkpoint/bundle/bundle_cleanup.hpp>
#include <trainhook/checkpoint/bundle/bundle_protocol.hpp>
#include <trainhook/checkpoint/saver.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/core/shared.hpp>
#include <trainhook/io/path.hpp>
#include <trainhook/io/whole_file.hpp>
#include <trainhook/session/hook_services.hpp>

namespace trainhook::detail {

/// Confirms before a commit that the directory is still held.
class Confirmation final : public CheckpointPart::Taken {
 public:
  Confirmation(std::shared_ptr<DirectoryHold> hold, std::int64_t step) : hold_(std::move(hold)), step_(step) {}

  void before_commit() override {
    if (hold_ != nullptr) hold_->confirm(step_);
  }

 private:
  std::shared_ptr<DirectoryHold> hold_;
  std::int64_t step_;
};

inline void log_what_was_finished(const InterruptedSaves& found, const std::string& directory) {
  for (const std::string& prefix : found.replaced)
    log_info("Checkpoint {} was being replaced when its writer was killed; the new one is in place now.", prefix);
  for (const std::string& prefix : found.removed) {
    log_info("Removed what was left of {}: its writer was killed before it was committed, or while it was removed.",
             prefix);
  }
  if (found.temporaries > 0) {
    log_info("Removed {} temporary files from {} that a writer which was killed had left.", found.temporaries,
             directory);
  }
  if (!found.foreign.empty()) {
    log_warning(
        "{} in {}: temporary files that this library did not number, the first {}. They stay, since another program "
        "may be writing them; remove them if none does",
        found.foreign.size(), directory, found.foreign.front());
  }
  if (found.incomplete.empty()) return;
  log_warning(
      "{} in {}: data without an index, such as a copy in progress leaves, the first {}. No saver wrote it, so it "
      "stays; remove it if it is not needed",
      found.incomplete.size(), directory, found.incomplete.front());
}

TakenParts CheckpointClaim::take_parts(const SaveMoment& moment) const {
  const auto confirmation = make_shared_object<Confirmation>(hold, moment.step);
  TakenParts taken{confirmation};
  for (const std::shared_ptr<CheckpointPart>& part : parts) part->take(moment, taken);
  taken.push_back(confirmation);
  return taken;
}

std::shared_ptr<DirectoryHold> take_directory(SessionServices& services, const CheckpointClaim& wanted) {
  FileSystem& file_system = services.file_system();
  const std::string& directory = wanted.directory;
  file_system.make_directories(directory);
  expect_name_fits(file_system, longest_bundle_path(join_path(directory, wanted.basename)),
                   fmt::format("{}: checkpoint_basename '{}'", wanted.hook, wanted.basename));
  std::shared_ptr<DirectoryHold> hold;
  if (wanted.directory_lock == DirectoryLock::Auto) {
    hold = make_shared_object<DirectoryHold>(file_system, directory, services.clock());
    services.before_end([weak = std::weak_ptr(hold)]() noexcept {
      if (const auto held = weak.lock()) held->announce_end();
    });
  }
  log_what_was_finished(finish_interrupted_saves(file_system, directory), directory);
  expect_replaces_files(file_system, directory);
  return hold;
}

std::shared_ptr<CheckpointClaim> claim_checkpoints(Graph& graph, SessionServices& services, CheckpointClaim wanted) {
  const std::string directory = plain_path(wanted.directory);
  for (const std::shared_ptr<CheckpointClaim>& held : graph.offered<CheckpointClaim>()) {
    if (plain_path(held->directory) != directory) continue;
    throw InvalidArgumentError(
        "two hooks save checkpoints into '{}': {} (checkpoint_basename {}) and {} (checkpoint_basename {}); leave one "
        "out, or give it its own checkpoint_dir. A training session given save_checkpoint_steps or "
        "save_checkpoint_secs has one already",
        wanted.directory, held->hook, held->basename, wanted.hook, wanted.basename);
  }
  wanted.hold = take_directory(services, wanted);
  auto claim = make_shared_object<CheckpointClaim>(std::move(wanted));
  graph.offer(claim);
  return claim;
}

}  // namespace trainhook::detail
