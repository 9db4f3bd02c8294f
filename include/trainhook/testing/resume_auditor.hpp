// SPDX-License-Identifier: Apache-2.0
/// @file
/// Audits a training program: interrupted at any of its file calls and started again, does it end as if nothing had
/// happened?
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

/// What happens to a run at one of its file calls.
enum class Interruption {
  Kill,          ///< the process is gone: this call and all later ones never happen
  PowerLoss,     ///< the same, and what was not synced may be lost, torn or reordered
  Error,         ///< the call fails, once
  ErrorForGood,  ///< the call and all later ones fail
};

struct ResumeAuditOptions {
  std::vector<Interruption> interruptions{Interruption::Kill, Interruption::PowerLoss};
  std::uint64_t every = 1;                         ///< interrupt at every so many file calls
  std::vector<std::uint64_t> at{};                 ///< interrupt at these calls only, counted from 1; empty: at `every`
  std::uint64_t power_losses = 3;                  ///< how many states of the disk are tried after each power loss
  ErrorCode error = ErrorCode::ResourceExhausted;  ///< what failing calls throw
  std::uint64_t seed = 1;                          ///< of the states of the disk
  std::vector<std::string> ignored_tags{"/sec"};   ///< summaries whose tag contains one of these are not compared
};

struct ResumeAudit {
  std::uint64_t file_calls = 0;            ///< of the run that was not interrupted
  std::uint64_t interruptions = 0;         ///< runs that were interrupted, went on and were compared
  std::vector<std::string> differences{};  ///< the first one of each run that ended differently; at most ten
};

/// Calls `train` once without interruption, then twice for each interruption, on a disk of its own: once until it is
/// interrupted, and once to its end. `train` builds everything that a process would, trains to its end and keeps all
/// files on the file system that it is given; it may throw while that fails. What it leaves is compared: the names of
/// the checkpoints; every tensor in the newest checkpoint of each basename, which covers the model, hooks, generators
/// and the input; and the summaries in event files, of which an interruption may lose some but change none.
/// @throws whatever `train` throws when it is not interrupted.
[[nodiscard]] TRAINHOOK_DECL ResumeAudit audit_resume(const std::function<void(FileSystem& disk)>& train,
                                                      const ResumeAuditOptions& options = {});

}  // namespace trainhook::testing

#ifndef TRAINHOOK_SEPARATE_COMPILATION
#include <trainhook/testing/impl/resume_auditor.ipp>
#endif
