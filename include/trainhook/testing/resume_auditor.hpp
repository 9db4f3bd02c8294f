// SPDX-License-Identifier: Apache-2.0
/// @file
/// audit_resume: checks that a training program, interrupted at any file call and started again, ends as if it had not
/// been interrupted.
///
///     const auto audit = testing::audit_resume([](FileSystem& disk) {
///       Trainer trainer;
///       trainer.train({.checkpoint_dir = "run", .file_system = &disk});
///     });
///     EXPECT_EQ(audit.differences, std::vector<std::string>());
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <trainhook/core/error.hpp>
#include <trainhook/core/linkage.hpp>
#include <trainhook/io/file_system.hpp>

namespace trainhook::testing {

/// The interruption of a run at one of its file calls.
enum class Interruption {
  Kill,          ///< the process ends: this call and all later ones have no effect
  PowerLoss,     ///< the same, and unsynced data may be lost, torn or reordered
  Error,         ///< the call fails, once
  ErrorForGood,  ///< the call and all later ones fail
};

struct ResumeAuditOptions {
  std::vector<Interruption> interruptions{Interruption::Kill, Interruption::PowerLoss};
  std::uint64_t every = 1;          ///< interrupts at every N-th file call
  std::vector<std::uint64_t> at{};  ///< interrupts only at these calls, counted from 1; empty: by `every`
  std::uint64_t power_losses = 3;   ///< the number of disk states to try after each power loss
  ErrorCode error = ErrorCode::ResourceExhausted;  ///< the error of failing calls
  std::uint64_t seed = 1;                          ///< for the states of the disk
  std::vector<std::string> ignored_tags{"/sec"};   ///< summaries whose tag contains one of these are not compared
};

struct ResumeAudit {
  std::uint64_t file_calls = 0;            ///< in the uninterrupted run
  std::uint64_t interruptions = 0;         ///< runs that were interrupted, resumed and compared
  std::vector<std::string> differences{};  ///< the first difference of each run that ended differently; at most ten
};

/// Calls `train` once without interruption, then twice for each interruption on a new disk: until it is interrupted,
/// and to its end. `train` must create everything that a process would, train to the end, and keep all files on the
/// given file system; it may throw while that fails. Compares the results: the names of the checkpoints; every tensor
/// in the newest checkpoint of each basename, which covers the model, hooks, generators and input; and the summaries in
/// event files: an interruption may lose some of them, but must change none.
/// @throws the error of `train` without interruption.
[[nodiscard]] TRAINHOOK_DECL ResumeAudit audit_resume(const std::function<void(FileSystem& disk)>& train,
                                                      const ResumeAuditOptions& options = {});

}  // namespace trainhook::testing

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/testing/impl/resume_auditor.ipp>
#endif
