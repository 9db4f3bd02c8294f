// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trainhook/compat/checkpoint_manager.hpp>

#include <limits>
#include <utility>

#include <trainhook/checkpoint/checkpoint_directory.hpp>
#include <trainhook/checkpoint/checkpoint_state.hpp>
#include <trainhook/core/dtype.hpp>
#include <trainhook/core/error.hpp>
#include <trainhook/core/log.hpp>
#include <trainhook/core/tensor.hpp>
#include <trainhook/core/user_call.hpp>
#include <trainhook/io/path.hpp>

namespace trainhook::detail {

/// A saver with `max_to_keep` 0 lists the newest checkpoint only; a manager that keeps all lists all.
inline SaverOptions saver_options(std::optional<int> max_to_keep, const CheckpointManagerOptions& options) {
  if (max_to_keep && *max_to_keep <= 0) {
    throw InvalidArgumentError(
        "CheckpointManager: max_to_keep is {}; it must be a positive number, or nothing, which keeps all checkpoints",
        *max_to_keep);
  }
  if (options.checkpoint_interval && options.step_counter.empty()) {
    throw InvalidArgumentError(
        "CheckpointManager: checkpoint_interval is {}, so `step_counter` should be passed: the name of the variable "
        "that counts steps, such as 'global_step'",
        *options.checkpoint_interval);
  }
  constexpr double kNever = std::numeric_limits<double>::infinity();
  return {.var_list = options.var_list,
          .max_to_keep = max_to_keep.value_or((std::numeric_limits<int>::max)()),
          .keep_checkpoint_every_n_hours = options.keep_checkpoint_every_n_hours.value_or(kNever),
          .format = options.format,
          .file_system = options.file_system,
          .clock = options.clock};
}

}  // namespace trainhook::detail

namespace trainhook {

CheckpointManager::CheckpointManager(std::string directory, std::optional<int> max_to_keep,
                                     CheckpointManagerOptions options)
    : directory_(std::move(directory)),
      options_(std::move(options)),
      saver_(detail::saver_options(max_to_keep, options_)) {}

std::optional<std::string> CheckpointManager::save(SessionRef session, std::optional<std::int64_t> checkpoint_number,
                                                   bool check_interval) {
  std::optional<std::int64_t> step;
  if (options_.checkpoint_interval) {
    step = step_of(session);
    if (step == last_checkpoint_step_) return std::nullopt;
    if (check_interval && last_checkpoint_step_ && *step < *last_checkpoint_step_ + *options_.checkpoint_interval)
      return std::nullopt;
  }
  std::string prefix = saver_.save(
      session, {.save_path = save_path(), .global_step = checkpoint_number ? *checkpoint_number : next_number()});
  last_checkpoint_step_ = step;
  return prefix;
}

std::optional<std::string> CheckpointManager::latest_checkpoint() const {
  return trainhook::latest_checkpoint(saver_.file_system(), directory_);
}

std::vector<std::string> CheckpointManager::checkpoints() const {
  const detail::RetentionPolicy policy{.max_to_keep = saver_.options().max_to_keep};
  return detail::Retention(saver_.file_system(), save_path(), kLatestFilename, policy).prefixes();
}

std::optional<std::string> CheckpointManager::restore_or_initialize(SessionRef session) {
  saver_.expect_all_here(session.graph(), "CheckpointManager");
  const std::vector<std::string> candidates =
      detail::checkpoint_candidates(saver_.file_system(), directory_, options_.checkpoint_name);
  for (const std::string& prefix : candidates) {
    try {
      saver_.restore(session, prefix, true);
    } catch (const DataLossError& error) {
      if (prefix == candidates.back()) throw;
      log_warning("checkpoint {} is skipped: {}", prefix, error.what());
      continue;
    }
    if (options_.checkpoint_interval) last_checkpoint_step_ = step_of(session);
    return prefix;
  }
  if (options_.init_fn) detail::call_of_user("init_fn of CheckpointManager", {}, [&] { options_.init_fn(session); });
  return std::nullopt;
}

std::int64_t CheckpointManager::step_of(SessionRef session) const {
  const Tensor step = session.snapshot({&options_.step_counter, 1}).front().tensor;
  if (step.dtype() == DType::Int32) return step.scalar<std::int32_t>();
  return step.scalar<std::int64_t>();
}

std::int64_t CheckpointManager::next_number() const {
  const std::vector<std::string> there = checkpoints_on_disk(saver_.file_system(), directory_);
  return there.empty() ? 1 : step_of_checkpoint(there.back()).value_or(0) + 1;
}

std::string CheckpointManager::save_path() const { return join_path(directory_, options_.checkpoint_name); }

}  // namespace trainhook
